#include "files/safetensors.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <optional>

#include <waggle/detail/json.h>

#include "core/check.h"

namespace waggle {

static_assert(std::endian::native == std::endian::little, "tensors are copied as they are");

namespace fs = std::filesystem;
using nlohmann::json;

namespace {

constexpr std::size_t kLengthBytes = 8;
constexpr std::uint64_t kLargestHeader = 100'000'000;
constexpr std::size_t kAlignment = 8;
constexpr std::size_t kMostDimensions = 8;
constexpr int kHeaderDepth = 3;  // header { tensor { shape [
constexpr const char* kMetadata = "__metadata__";

struct DtypeInfo {
  Dtype dtype;
  std::string_view name;
  std::size_t size;
};
constexpr std::array<DtypeInfo, 5> kDtypes{{{Dtype::f64, "F64", 8},
                                            {Dtype::f32, "F32", 4},
                                            {Dtype::i64, "I64", 8},
                                            {Dtype::u8, "U8", 1},
                                            {Dtype::boolean, "BOOL", 1}}};

const DtypeInfo& info_of(Dtype dtype) {
  return *std::find_if(kDtypes.begin(), kDtypes.end(),
                       [&](const DtypeInfo& info) { return info.dtype == dtype; });
}

/// The bytes of a tensor, or nothing if they are more than can be counted.
std::optional<std::uint64_t> bytes_of(Dtype dtype, const std::vector<std::uint64_t>& shape) {
  std::uint64_t bytes = size_of(dtype);
  bool overflow = false;
  for (const std::uint64_t extent : shape) {
    if (extent == 0) return 0;
    overflow = overflow || __builtin_mul_overflow(bytes, extent, &bytes);
  }
  if (overflow) return std::nullopt;
  return bytes;
}

/// One tensor of a header, and where its bytes are.
struct Placed {
  std::string name;
  Tensor tensor;
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
};

std::vector<std::uint64_t> whole_numbers(const json& list, const std::string& where) {
  require(list.is_array() && list.size() <= kMostDimensions,
          "{}: must be a list of at most {} whole numbers", where, kMostDimensions);
  std::vector<std::uint64_t> numbers;
  for (const json& number : list) {
    require(number.is_number_unsigned(), "{}: must be whole numbers, not negative", where);
    numbers.push_back(number.get<std::uint64_t>());
  }
  return numbers;
}

Placed parse_entry(const std::string& key, const json& value, const std::string& file) {
  const std::string where = fmt::format("{}: tensor {}", file, in_quotes(key));
  require(value.is_object() && value.size() == 3 && value.contains("dtype") &&
              value.contains("shape") && value.contains("data_offsets"),
          "{}: must have dtype, shape and data_offsets, and nothing else", where);
  const json& dtype = value["dtype"];
  const auto known = std::find_if(kDtypes.begin(), kDtypes.end(), [&](const DtypeInfo& info) {
    return dtype.is_string() && dtype.get_ref<const std::string&>() == info.name;
  });
  require(known != kDtypes.end(), "{}: dtype {} is not one of F64, F32, I64, U8, BOOL", where,
          dtype.is_string() ? in_quotes(dtype.get_ref<const std::string&>()) : "?");
  Placed entry{key, {known->dtype, whole_numbers(value["shape"], where + ": shape"), {}}};
  const auto offsets = whole_numbers(value["data_offsets"], where + ": data_offsets");
  require(offsets.size() == 2 && offsets[0] <= offsets[1],
          "{}: data_offsets must be where it begins and where it ends", where);
  entry.begin = offsets[0];
  entry.end = offsets[1];
  const auto bytes = bytes_of(entry.tensor.dtype, entry.tensor.shape);
  require(bytes.has_value(), "{}: shape [{}] is too large", where,
          fmt::join(entry.tensor.shape, ", "));
  require(*bytes == entry.end - entry.begin, "{}: {} of shape [{}] takes {} bytes, it has {}",
          where, known->name, fmt::join(entry.tensor.shape, ", "), *bytes, entry.end - entry.begin);
  return entry;
}

}  // namespace

std::string_view name_of(Dtype dtype) { return info_of(dtype).name; }
std::size_t size_of(Dtype dtype) { return info_of(dtype).size; }

Safetensors parse_safetensors(std::string_view bytes, const std::string& name) {
  require(bytes.size() >= kLengthBytes, "{}: {} bytes are too few for a safetensors file", name,
          bytes.size());
  std::uint64_t length = 0;
  std::memcpy(&length, bytes.data(), kLengthBytes);
  require(length <= kLargestHeader && length <= bytes.size() - kLengthBytes,
          "{}: no safetensors file, or cut short: its header would have {} bytes, the file has {}",
          name, length, bytes.size());
  const std::string_view text = bytes.substr(kLengthBytes, length);
  const std::string_view data = bytes.substr(kLengthBytes + length);
  require(text.starts_with('{'), "{}: no safetensors file: its header does not start with '{{'",
          name);
  const json header = parse_json(text, name + ": header", kHeaderDepth);

  Safetensors content;
  std::vector<Placed> entries;
  for (const auto& [key, value] : header.items()) {
    if (key != kMetadata) {
      entries.push_back(parse_entry(key, value, name));
      continue;
    }
    require(value.is_object(), "{}: {} must map names to text", name, kMetadata);
    for (const auto& [item, text_value] : value.items()) {
      require(text_value.is_string(), "{}: {} {} must be text", name, kMetadata, in_quotes(item));
      content.metadata[item] = text_value.get<std::string>();
    }
  }
  std::sort(entries.begin(), entries.end(), [](const Placed& a, const Placed& b) {
    return std::pair(a.begin, a.end) < std::pair(b.begin, b.end);
  });
  std::uint64_t covered = 0;
  for (Placed& entry : entries) {
    require(entry.begin >= covered, "{}: tensor {} overlaps another, at byte {}", name,
            in_quotes(entry.name), entry.begin);
    require(entry.begin == covered, "{}: nothing says what bytes {} to {} are", name, covered,
            entry.begin);
    require(entry.end <= data.size(), "{}: cut short: tensor {} ends at byte {} of {}", name,
            in_quotes(entry.name), entry.end, data.size());
    covered = entry.end;
    entry.tensor.bytes = data.substr(entry.begin, entry.end - entry.begin);
    if (entry.tensor.dtype == Dtype::boolean) {
      const bool valid = std::all_of(entry.tensor.bytes.begin(), entry.tensor.bytes.end(),
                                     [](char byte) { return byte == 0 || byte == 1; });
      require(valid, "{}: tensor {}: BOOL must be 0 or 1", name, in_quotes(entry.name));
    }
    content.tensors.emplace(std::move(entry.name), std::move(entry.tensor));
  }
  require(covered == data.size(), "{}: {} bytes after the last tensor", name,
          data.size() - covered);
  return content;
}

std::string serialise(const Safetensors& content) {
  // Wide numbers first, so that each tensor starts at a multiple of its own.
  std::vector<const std::pair<const std::string, Tensor>*> order;
  for (const auto& item : content.tensors) order.push_back(&item);
  std::stable_sort(order.begin(), order.end(), [](const auto* a, const auto* b) {
    return size_of(a->second.dtype) > size_of(b->second.dtype);
  });
  nlohmann::ordered_json header = nlohmann::ordered_json::object();
  if (!content.metadata.empty()) header[kMetadata] = content.metadata;
  std::size_t offset = 0;
  for (const auto* item : order) {
    const auto& [name, tensor] = *item;
    require(name != kMetadata, "tensor {}: the name is taken", name);
    require(bytes_of(tensor.dtype, tensor.shape) == tensor.bytes.size(),
            "tensor {}: {} bytes do not fit {} of shape [{}]", in_quotes(name), tensor.bytes.size(),
            name_of(tensor.dtype), fmt::join(tensor.shape, ", "));
    header[name] = {{"dtype", name_of(tensor.dtype)},
                    {"shape", tensor.shape},
                    {"data_offsets", {offset, offset + tensor.bytes.size()}}};
    offset += tensor.bytes.size();
  }
  std::string text = header.dump(-1, ' ', false, json::error_handler_t::replace);
  text.resize((text.size() + kAlignment - 1) / kAlignment * kAlignment, ' ');
  const std::uint64_t length = text.size();
  std::string bytes(kLengthBytes, '\0');
  std::memcpy(bytes.data(), &length, kLengthBytes);
  bytes.reserve(kLengthBytes + text.size() + offset);
  bytes += text;
  for (const auto* item : order) bytes += item->second.bytes;
  return bytes;
}

std::string read_whole_file(const fs::path& path) {
  const std::string shown = in_quotes(path.string());
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  require(!error || status.type() == fs::file_type::not_found, "cannot read {}: {}", shown,
          error.message());
  require(fs::exists(status), "cannot read {}: there is no such file", shown);
  require(fs::is_regular_file(status), "cannot read {}: it is not a file", shown);
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  require(file.good(), "cannot read {}: {}", shown, std::strerror(errno));
  std::string bytes(static_cast<std::size_t>(std::max<std::streamoff>(0, file.tellg())), '\0');
  file.seekg(0);
  file.read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  require(file.gcount() == static_cast<std::streamsize>(bytes.size()),
          "cannot read {}: only {} of {} bytes came", shown, file.gcount(), bytes.size());
  return bytes;
}

Safetensors read_safetensors(const fs::path& path) {
  return parse_safetensors(read_whole_file(path), in_quotes(path.string()));
}

}  // namespace waggle
