#include "logs/npy.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "expect_error.h"
#include "log_files.h"
#include "temporary_folder.h"

namespace waggle {
namespace {

using Rows = std::vector<std::vector<double>>;

std::string header(const std::string& type, const std::string& shape, bool fortran = false) {
  return "{'descr': '" + type + "', 'fortran_order': " + (fortran ? "True" : "False") +
         ", 'shape': " + shape + ", }";
}

Rows read(Table& table, const std::vector<std::string>& columns) {
  std::vector<std::size_t> places;
  for (const std::string& column : columns) {
    const auto& all = table.columns();
    const auto found = std::find(all.begin(), all.end(), column);
    EXPECT_NE(found, all.end()) << column;
    places.push_back(static_cast<std::size_t>(found - all.begin()));
  }
  table.use(places);
  Rows rows;
  while (table.next()) {
    rows.emplace_back();
    for (const std::size_t place : places) rows.back().push_back(table.number(place));
  }
  return rows;
}

template <typename T>
std::string swapped(std::string bytes) {
  for (std::size_t i = 0; i < bytes.size(); i += sizeof(T)) {
    std::reverse(bytes.begin() + static_cast<long>(i),
                 bytes.begin() + static_cast<long>(i + sizeof(T)));
  }
  return bytes;
}

template <typename T>
void expect_type(const TemporaryFolder& folder, const std::string& code,
                 const std::vector<T>& numbers) {
  Rows expected;
  for (const T number : numbers) expected.push_back({static_cast<double>(number)});
  const std::string shape = "(" + std::to_string(numbers.size()) + ",)";
  for (const int version : {1, 2, 3}) {
    const auto little = open_npy(
        folder.write("x.npy", npy_file(header("<" + code, shape), bytes_of(numbers), version)));
    EXPECT_EQ(read(*little, {"x"}), expected) << code;
    const auto big = open_npy(folder.write(
        "x.npy", npy_file(header(">" + code, shape), swapped<T>(bytes_of(numbers)), version)));
    EXPECT_EQ(read(*big, {"x"}), expected) << code;
  }
}

TEST(Npy, ReadsEveryTypeInBothByteOrders) {
  const TemporaryFolder folder;
  expect_type<double>(folder, "f8", {1.5, -2e99, 0.1});
  expect_type<float>(folder, "f4", {1.5f, -2e30f, 0.1f});
  expect_type<std::int64_t>(folder, "i8", {-5, 1'000'000'007'000});
  expect_type<std::int32_t>(folder, "i4", {-5, 1'000'000'007});
  expect_type<std::int16_t>(folder, "i2", {-5, 30'000});
  expect_type<std::int8_t>(folder, "i1", {-5, 127});
  expect_type<std::uint64_t>(folder, "u8", {5, std::uint64_t{1} << 63});
  expect_type<std::uint32_t>(folder, "u4", {5, 4'000'000'000});
  expect_type<std::uint16_t>(folder, "u2", {5, 60'000});
  expect_type<std::uint8_t>(folder, "u1", {5, 255});
  const auto flags =
      open_npy(folder.write("x.npy", npy_file(header("|b1", "(3,)"), {"\0\1\2", 3})));
  EXPECT_EQ(read(*flags, {"x"}), (Rows{{0}, {1}, {1}}));
}

TEST(Npy, AMatrixIsItsColumnsInEitherOrder) {
  const TemporaryFolder folder;
  constexpr int rows = 1000, width = 3;  // several blocks
  std::vector<double> by_row, by_column;
  Rows expected, last;
  for (int i = 0; i < rows; ++i) {
    expected.push_back({1.0 * i, 0.5 * i, i - 7.0});
    last.push_back({i - 7.0, 1.0 * i});
    by_row.insert(by_row.end(), expected.back().begin(), expected.back().end());
  }
  for (std::size_t j = 0; j < width; ++j) {
    for (const auto& row : expected) by_column.push_back(row[j]);
  }
  const std::string c = npy_file(header("<f8", "(1000, 3)"), bytes_of(by_row));
  const std::string fortran = npy_file(header("<f8", "(1000, 3)", true), bytes_of(by_column));
  const std::string zip = folder.path("m.npz");
  for (const bool deflate : {false, true}) {
    for (const std::string& content : {c, fortran}) {
      const auto file = open_npy(folder.write("m.npy", content));
      EXPECT_EQ(file->columns(), (std::vector<std::string>{"m_0", "m_1", "m_2"}));
      ASSERT_TRUE(write_zip(zip, {{"m.npy", content}}, deflate));
      const auto archive = open_npz(zip);
      for (Table* table : {file.get(), archive.get()}) {
        EXPECT_EQ(read(*table, {"m_0", "m_1", "m_2"}), expected);
        EXPECT_EQ(read(*table, {"m_2", "m_0"}), last);  // again, from the start
      }
    }
  }
}

TEST(Npy, ArchivesAreColumnsByName) {
  const TemporaryFolder folder;
  std::vector<double> a, b;
  Rows expected;
  for (int i = 0; i < 700; ++i) {
    a.push_back(i);
    b.push_back(-0.5 * i);
    expected.push_back({b.back(), a.back()});
  }
  for (const bool deflate : {false, true}) {
    ASSERT_TRUE(write_zip(folder.path("l.npz"),
                          {{"a.npy", npy_vector(a)},
                           {"b.npy", npy_vector(b)},
                           {"short.npy", npy_vector({1, 2})},
                           {"note.txt", "not an array"},
                           {"objects.npy", npy_file(header("|O", "(700,)"), "pickle")}},
                          deflate));
    const auto table = open_npz(folder.path("l.npz"));
    EXPECT_EQ(table->columns(), (std::vector<std::string>{"a", "b", "short", "objects"}));
    EXPECT_EQ(read(*table, {"b", "a"}), expected);
    expect_error([&] { table->use({0, 2}); }, "l.npz", "'short' has 2 rows", "'a' has 700");
    expect_error([&] { table->use({3}); }, "'objects.npy'", "Python objects");
  }
}

TEST(Npy, NumbersThatAreMissingAreNamed) {
  const TemporaryFolder folder;
  const auto table = open_npy(folder.write("x.npy", npy_vector({1, 2, std::nan("")})));
  table->use({0});
  ASSERT_TRUE(table->next() && table->next() && table->next());
  expect_error([&] { table->number(0); }, "x.npy", "row 3", "column 'x'", "empty");
}

TEST(Npy, HostileFilesAreRefused) {
  const TemporaryFolder folder;
  const auto refuse = [&](const std::string& content, const auto&... parts) {
    const std::string path = folder.write("x.npy", content);
    expect_error([&] { open_npy(path); }, "x.npy", parts...);
    ASSERT_TRUE(write_zip(folder.path("x.npz"), {{"y.npy", content}}, true));
    expect_error([&] { open_npz(folder.path("x.npz"))->use({0}); }, "x.npz", "y.npy", parts...);
  };
  refuse("", "not a NumPy array");
  refuse("\x93NUMPY", "not a NumPy array");
  refuse("just some text", "not a NumPy array");
  refuse(npy_file(header("<f8", "(1,)"), "12345678", 4), "version 4");
  refuse(npy_file(header("<f8", "(2,)"), "12345678"), "truncated");
  refuse(npy_file(header("<f8", "(1,)"), "123456789"), "too long");
  refuse(npy_file(header("<f8", "(18446744073709551615,)"), ""), "shape");
  refuse(npy_file(header("<f8", "(2305843009213693952, 8)"), ""), "shape");
  refuse(npy_file(header("<f8", "(99999999999999999999,)"), ""), "shape");
  refuse(npy_file(header("<f8", "(1, 4294967296)"), ""), "4294967296 columns");
  refuse(npy_file(header("<f8", "(1099511627776, 1000000)"), ""), "truncated");
  refuse(npy_file(header("<f8", "(1, 0)"), ""), "0 columns");
  refuse(npy_file(header("<f8", "(-1,)"), ""), "shape");
  refuse(npy_file(header("<f8", "()"), "12345678"), "0 dimensions");
  refuse(npy_file(header("<f8", "(1, 1, 1)"), "12345678"), "3 dimensions");
  refuse(npy_file(header("|O", "(1,)"), "12345678"), "Python objects");
  refuse(npy_file(header("<c16", "(1,)"), "12345678"), "'<c16'");
  refuse(npy_file(header("<U2", "(1,)"), "12345678"), "'<U2'");
  refuse(npy_file("{'descr': [('a', '<f8')], 'fortran_order': False, 'shape': (1,), }", "12345678"),
         "array of records", "numpy.savez");
  refuse(npy_file("{'descr': '<f8', 'shape': (1,), }", "12345678"), "has no 'fortran_order'");
  refuse(npy_file("{'descr': '<f8, }", "12345678"), "'<f'");
  refuse(npy_file("{'descr'", "12345678"), "has no 'descr'");
  refuse(npy_file("{'x': 1, }", "12345678"), "has no 'descr'");
  refuse(npy_file(header("<f8", "(1,)") + std::string(60'000, ' '), "12345678"), "at most");
  std::string cut = npy_file(header("<f8", "(1,)"), "", 2);
  refuse(cut.substr(0, 40), "ends inside its header");
  cut[8 + 3] = '\x7F';  // a header of 2 GB
  refuse(cut, "a header of 21", "at most");
}

TEST(Npy, AMatrixMayBeVeryWide) {
  const TemporaryFolder folder;
  std::vector<float> numbers(3 * 200'000);
  for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<float>(i);
  const auto table =
      open_npy(folder.write("m.npy", npy_file(header("<f4", "(3, 200000)"), bytes_of(numbers))));
  EXPECT_EQ(read(*table, {"m_199999", "m_0"}),
            (Rows{{199'999, 0}, {399'999, 200'000}, {599'999, 400'000}}));
}

TEST(Npy, DamagedArchivesAreRefused) {
  const TemporaryFolder folder;
  expect_error([&] { open_npz(folder.write("x.npz", "no archive")); }, "x.npz", "not a NumPy");
  expect_error([&] { open_npz(folder.path("none.npz")); }, "No such file");
  ASSERT_TRUE(write_zip(folder.path("x.npz"), {{"note.txt", "nothing"}}, false));
  expect_error([&] { open_npz(folder.path("x.npz")); }, "no arrays");
  ASSERT_TRUE(write_zip(folder.path("x.npz"), {{"a.npy", npy_vector({1, 2, 3})}}, false));
  // One bit of the last number: only the checksum can tell.
  std::ifstream in(folder.path("x.npz"), std::ios::binary);
  std::string bytes{std::istreambuf_iterator<char>(in), {}};
  const std::string three = bytes_of<double>({3.0});
  bytes[bytes.find(three)] ^= 1;
  const auto table = open_npz(folder.write("x.npz", bytes));
  expect_error([&] { read(*table, {"a"}); }, "a.npy", "CRC");
}

}  // namespace
}  // namespace waggle
