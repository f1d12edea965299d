#include "files/safetensors.h"

#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <unistd.h>

#include <waggle/detail/atomic_file.h>

#include "expect_error.h"

namespace waggle {
namespace {

namespace fs = std::filesystem;

std::string file_of(const std::string& header, const std::string& data, std::int64_t extra = 0) {
  const std::uint64_t length = header.size() + static_cast<std::uint64_t>(extra);
  std::string bytes(8, '\0');
  std::memcpy(bytes.data(), &length, 8);
  return bytes + header + data;
}

template <typename T>
std::string bytes_of(const std::vector<T>& values) {
  std::string bytes(values.size() * sizeof(T), '\0');
  std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

TEST(Safetensors, ReadsTheFormatAsDocumented) {
  const std::string data = bytes_of<float>({1.0F, 2.0F, 3.0F, 4.0F}) + bytes_of<double>({0.5});
  const Safetensors content =
      parse_safetensors(file_of(R"({"__metadata__":{"by":"hand"},)"
                                R"("m":{"dtype":"F32","shape":[2,2],"data_offsets":[0,16]},)"
                                R"("s":{"dtype":"F64","shape":[],"data_offsets":[16,24]}}  )",
                                data),
                        "file");
  EXPECT_EQ(content.metadata.at("by"), "hand");
  ASSERT_EQ(content.tensors.size(), 2U);
  EXPECT_EQ(content.tensors.at("m").shape, (std::vector<std::uint64_t>{2, 2}));
  EXPECT_EQ(content.tensors.at("m").bytes, data.substr(0, 16));
  EXPECT_TRUE(content.tensors.at("s").shape.empty());
  EXPECT_EQ(content.tensors.at("s").bytes, data.substr(16));
}

TEST(Safetensors, WritesWhatItReads) {
  Safetensors content;
  content.metadata = {{"name", "bee \"world\"\n"}, {"unicode", "γ = ½"}};
  content.tensors["b"] = {Dtype::boolean, {3}, std::string("\1\0\1", 3)};
  content.tensors["c"] = {Dtype::u8, {1, 2}, "xy"};
  content.tensors["d"] = {Dtype::f64, {2}, bytes_of<double>({1.5, -0.0})};
  content.tensors["e"] = {Dtype::i64, {2}, bytes_of<std::int64_t>({-1, INT64_MAX})};
  content.tensors["f"] = {Dtype::f32, {1, 1, 1}, bytes_of<float>({0.1F})};
  content.tensors["empty"] = {Dtype::f64, {0, 7}, ""};
  const std::string bytes = serialise(content);
  const Safetensors again = parse_safetensors(bytes, "file");
  EXPECT_EQ(again.metadata, content.metadata);
  ASSERT_EQ(again.tensors.size(), content.tensors.size());
  for (const auto& [name, tensor] : content.tensors) {
    EXPECT_EQ(again.tensors.at(name).dtype, tensor.dtype) << name;
    EXPECT_EQ(again.tensors.at(name).shape, tensor.shape) << name;
    EXPECT_EQ(again.tensors.at(name).bytes, tensor.bytes) << name;
  }
  EXPECT_EQ(serialise(again), bytes);
  // Whoever maps the file finds doubles at multiples of 8.
  std::uint64_t length = 0;
  std::memcpy(&length, bytes.data(), 8);
  EXPECT_EQ((8 + length) % 8, 0U);
  for (const char* name : {"d", "e"}) {
    EXPECT_EQ(bytes.find(content.tensors[name].bytes, 8 + length) % 8, 0U) << name;
  }
}

TEST(Safetensors, RefusesToWriteWhatDoesNotFit) {
  Safetensors content;
  content.tensors["short"] = {Dtype::f64, {2}, "12345678"};
  expect_error([&] { serialise(content); }, "short", "8 bytes", "F64");
}

struct Hostile {
  const char* what;
  std::string bytes;
  const char* message;
};

std::string one_tensor(const std::string& fields, const std::string& data = "12345678") {
  return file_of(R"({"t":{)" + fields + "}}", data);
}

std::vector<Hostile> hostile_files() {
  const std::string deep(5000, '[');
  return {
      {"empty", "", "0 bytes"},
      {"only a length", std::string(8, '\0'), "'{'"},
      {"seven bytes", "1234567", "7 bytes"},
      {"a header longer than the file", file_of("{}", "", 1), "cut short"},
      {"a length that overflows", std::string(8, '\xff') + "{}", "18446744073709551615"},
      {"a header of 200 MB", file_of("{}", "", 200'000'000), "cut short"},
      {"text", "format = no such thing at all\n", "no safetensors file"},
      {"a list", file_of("[]", ""), "'{'"},
      {"half an object", file_of("{\"a\":", ""), "not JSON, at byte"},
      {"not UTF-8", file_of("{\"__metadata__\":{\"a\":\"\xff\"}}", ""), "not JSON"},
      {"a huge number", one_tensor(R"("dtype":"U8","shape":[1e999],"data_offsets":[0,8])"),
       "not JSON"},
      {"deep nesting", file_of("{\"a\":" + deep, ""), "nested deeper"},
      {"the same name twice",
       file_of(R"({"t":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},)"
               R"("t":{"dtype":"U8","shape":[1],"data_offsets":[1,2]}})",
               "ab"),
       "\"t\" is given twice"},
      {"the same key twice", file_of(R"({"__metadata__":{"a":"1","a":"2"}})", ""), "given twice"},
      {"metadata that is no text", file_of(R"({"__metadata__":{"a":1}})", ""), "must be text"},
      {"metadata that is a list", file_of(R"({"__metadata__":[]})", ""), "__metadata__"},
      {"no offsets", one_tensor(R"("dtype":"U8","shape":[8])"), "data_offsets"},
      {"one field more", one_tensor(R"("dtype":"U8","shape":[8],"data_offsets":[0,8],"x":1)"),
       "nothing else"},
      {"an unknown type", one_tensor(R"("dtype":"F7","shape":[8],"data_offsets":[0,8])"),
       "dtype \"F7\""},
      {"a type that is a number", one_tensor(R"("dtype":7,"shape":[8],"data_offsets":[0,8])"),
       "dtype ?"},
      {"a negative side", one_tensor(R"("dtype":"U8","shape":[-8],"data_offsets":[0,8])"),
       "not negative"},
      {"half a side", one_tensor(R"("dtype":"U8","shape":[8.5],"data_offsets":[0,8])"),
       "whole numbers"},
      {"nine sides", one_tensor(R"("dtype":"U8","shape":[1,1,1,1,1,1,1,1,8],"data_offsets":[0,8])"),
       "at most 8"},
      {"sides that overflow",
       one_tensor(
           R"("dtype":"F64","shape":[4294967296,4294967296,4294967297],"data_offsets":[0,8])"),
       "too large"},
      {"a product that wraps to the size",
       one_tensor(R"("dtype":"F64","shape":[2305843009213693953],"data_offsets":[0,8])"),
       "too large"},
      {"a shape of other size", one_tensor(R"("dtype":"F64","shape":[2],"data_offsets":[0,8])"),
       "takes 16 bytes, it has 8"},
      {"offsets the wrong way", one_tensor(R"("dtype":"U8","shape":[8],"data_offsets":[8,0])"),
       "begins"},
      {"three offsets", one_tensor(R"("dtype":"U8","shape":[8],"data_offsets":[0,8,16])"),
       "begins"},
      {"past the end", one_tensor(R"("dtype":"U8","shape":[9],"data_offsets":[0,9])"), "cut short"},
      {"far past the end",
       one_tensor(
           R"("dtype":"U8","shape":[8],"data_offsets":[18446744073709551607,18446744073709551615])"),
       "nothing says"},
      {"bytes left over", one_tensor(R"("dtype":"U8","shape":[7],"data_offsets":[0,7])"),
       "1 bytes after"},
      {"a hole", one_tensor(R"("dtype":"U8","shape":[7],"data_offsets":[1,8])"), "nothing says"},
      {"an overlap",
       file_of(R"({"a":{"dtype":"U8","shape":[5],"data_offsets":[0,5]},)"
               R"("b":{"dtype":"U8","shape":[5],"data_offsets":[3,8]}})",
               "12345678"),
       "\"b\" overlaps"},
      {"a truth that is 2", one_tensor(R"("dtype":"BOOL","shape":[1],"data_offsets":[0,1])", "\2"),
       "0 or 1"},
      {"a name that breaks the line", file_of(R"({"a\nb":{}})", ""), "a\\nb"},
      {"a name that is long", file_of("{\"" + std::string(5000, 'a') + "\":{}}", ""), "…"},
      {"a million values",
       file_of(
           "{\"a\":[" +
               [] {
                 std::string list;
                 for (int i = 0; i < 1'000'001; ++i) list += "0,";
                 return list;
               }(),
           ""),
       "more than 1000000 values"},
  };
}

TEST(Safetensors, RefusesHostileFiles) {
  for (const Hostile& hostile : hostile_files()) {
    SCOPED_TRACE(hostile.what);
    expect_error([&] { parse_safetensors(hostile.bytes, "bad.file"); }, "bad.file",
                 hostile.message);
  }
}

TEST(Safetensors, RefusesWhatIsNoFile) {
  const fs::path directory =
      fs::path(testing::TempDir()) / ("waggle-safetensors-" + std::to_string(getpid()));
  fs::create_directories(directory);
  expect_error([&] { read_safetensors(directory / "nothing"); }, "nothing", "no such file");
  expect_error([&] { read_safetensors(directory); }, "it is not a file");
  expect_error([&] { read_safetensors("/dev/zero"); }, "/dev/zero", "it is not a file");
  write_file(directory / "short", "x");
  expect_error([&] { read_safetensors(directory / "short"); }, "short", "1 bytes");
  fs::remove_all(directory);
}

}  // namespace
}  // namespace waggle
