#include <algorithm>
#include <bit>
#include <charconv>
#include <cstring>
#include <limits>
#include <vector>

#include "core/check.h"
#include "core/text.h"
#include "logs/npy.h"

namespace waggle {

namespace {

template <typename T, bool Swap>
double decode(const char* bytes) {
  char copy[sizeof(T)];
  std::memcpy(copy, bytes, sizeof(T));
  if constexpr (Swap) std::reverse(copy, copy + sizeof(T));
  T value;
  std::memcpy(&value, copy, sizeof(T));
  return static_cast<double>(value);
}

double decode_bool(const char* byte) { return *byte != 0 ? 1.0 : 0.0; }

using Decode = double (*)(const char*);

template <typename T>
Decode decoder(bool swap) {
  return swap ? &decode<T, true> : &decode<T, false>;
}

/// Sets how numbers of the dtype are read; false if it is none of those that can be.
bool set_type(NpyHeader& header) {
  const std::string& type = header.type;
  if (type.size() != 3) return false;
  const char order = type[0];
  if (order != '<' && order != '>' && order != '|' && order != '=') return false;
  constexpr bool little = std::endian::native == std::endian::little;
  const bool swap = (order == '<' && !little) || (order == '>' && little);
  const std::string_view kind = std::string_view(type).substr(1);
  header.item_size = static_cast<std::size_t>(type[2] - '0');
  const std::pair<std::string_view, Decode> known[] = {
      {"f8", decoder<double>(swap)},
      {"f4", decoder<float>(swap)},
      {"i8", decoder<std::int64_t>(swap)},
      {"i4", decoder<std::int32_t>(swap)},
      {"i2", decoder<std::int16_t>(swap)},
      {"i1", decoder<std::int8_t>(swap)},
      {"u8", decoder<std::uint64_t>(swap)},
      {"u4", decoder<std::uint32_t>(swap)},
      {"u2", decoder<std::uint16_t>(swap)},
      {"u1", decoder<std::uint8_t>(swap)},
      {"b1", &decode_bool},
  };
  for (const auto& [code, function] : known) {
    if (kind == code) header.decode = function;
  }
  return header.decode != nullptr;
}

/// Reads the Python dictionary literal of a header, as far as numpy writes it.
class LiteralReader {
 public:
  LiteralReader(std::string_view text, const std::string& name) : text_(text), name_(name) {}

  bool accept(std::string_view token) {
    while (!text_.empty() && (text_[0] == ' ' || text_[0] == '\n')) text_.remove_prefix(1);
    if (!text_.starts_with(token)) return false;
    text_.remove_prefix(token.size());
    return true;
  }

  void expect(std::string_view token) {
    require(accept(token), "{}: the header is malformed: expected '{}' before {}", name_, token,
            shown(text_));
  }

  std::string string() {
    const std::string_view quote = accept("\"") ? "\"" : "'";
    if (quote == "'") expect(quote);
    const std::size_t end = text_.find(quote);
    require(end != std::string_view::npos, "{}: the header is malformed: no closing quote in {}",
            name_, shown(text_));
    std::string result(text_.substr(0, end));
    text_.remove_prefix(end + 1);
    return result;
  }

  bool boolean() {
    if (accept("True")) return true;
    expect("False");
    return false;
  }

  std::vector<std::uint64_t> shape() {
    std::vector<std::uint64_t> sizes;
    expect("(");
    while (!accept(")")) {
      accept("");  // blanks
      std::uint64_t size = 0;
      const auto [end, code] = std::from_chars(text_.data(), text_.data() + text_.size(), size);
      require(code == std::errc() && sizes.size() < 32,
              "{}: the header's shape is malformed or out of range at {}", name_, shown(text_));
      text_.remove_prefix(static_cast<std::size_t>(end - text_.data()));
      accept("L");  // as Python 2 wrote them
      sizes.push_back(size);
      if (!accept(",")) {
        expect(")");
        break;
      }
    }
    return sizes;
  }

 private:
  std::string_view text_;
  const std::string& name_;
};

std::uint64_t little_endian(std::string_view bytes) {
  std::uint64_t value = 0;
  for (std::size_t i = bytes.size(); i-- > 0;) {
    value = value * 256 + static_cast<unsigned char>(bytes[i]);
  }
  return value;
}

void require_sizes(const NpyHeader& header, const std::string& name) {
  require(header.width >= 1 && header.width <= kMaximumColumns,
          "{}: a matrix of {} columns, must be 1 to {}", name, header.width, kMaximumColumns);
  // Half the range, so that adding an offset cannot overflow either.
  const std::uint64_t limit =
      std::numeric_limits<std::uint64_t>::max() / 2 / header.width / header.item_size;
  require(header.rows <= limit, "{}: {} rows of {} bytes are more than any file holds", name,
          header.rows, header.width * header.item_size);
}

}  // namespace

NpyHeader parse_npy_header(std::string_view bytes, const std::string& name) {
  require(bytes.starts_with("\x93NUMPY") && bytes.size() >= 8, "{}: not a NumPy array (no header)",
          name);
  const int version = static_cast<unsigned char>(bytes[6]);
  require(version >= 1 && version <= 3, "{}: NumPy format version {}, must be 1, 2 or 3", name,
          version);
  const std::size_t length_size = version == 1 ? 2 : 4;
  require(bytes.size() >= 8 + length_size, "{}: the file ends inside its header", name);
  const std::uint64_t length = little_endian(bytes.substr(8, length_size));
  const std::size_t start = 8 + length_size;
  require(length <= kNpyHeaderLimit - start, "{}: a header of {} bytes, must be at most {}", name,
          length, kNpyHeaderLimit - start);
  require(bytes.size() >= start + length, "{}: the file ends inside its header", name);

  NpyHeader header;
  header.data_offset = start + length;
  LiteralReader reader(bytes.substr(start, length), name);
  std::vector<std::uint64_t> shape;
  bool has_type = false, has_order = false, has_shape = false;
  reader.expect("{");
  while (!reader.accept("}")) {
    const std::string key = reader.string();
    reader.expect(":");
    if (key == "descr") {
      require(!reader.accept("["),
              "{}: an array of records; save each field as an array of its own in an .npz", name);
      header.type = reader.string();
      has_type = true;
    } else if (key == "fortran_order") {
      header.fortran_order = reader.boolean();
      has_order = true;
    } else if (key == "shape") {
      shape = reader.shape();
      has_shape = true;
    } else {
      throw Error(fmt::format("{}: the header has an unknown entry {}", name, shown(key)));
    }
    if (!reader.accept(",")) {
      reader.expect("}");
      break;
    }
  }
  require(has_type && has_order && has_shape, "{}: the header must have {}", name,
          "'descr', 'fortran_order' and 'shape'");
  require(
      header.type.find('O') == std::string::npos,
      "{}: an array of Python objects; reading it would run code, so it must be saved as numbers",
      name);
  require(set_type(header), "{}: numbers of type {}, must be f8, f4, i8 to i1, u8 to u1 or b1",
          name, shown(header.type));
  require(shape.size() == 1 || shape.size() == 2,
          "{}: an array of {} dimensions, must be a vector or a matrix (rows are steps)", name,
          shape.size());
  header.dimensions = static_cast<int>(shape.size());
  header.rows = shape[0];
  if (shape.size() == 2) header.width = shape[1];
  require_sizes(header, name);
  return header;
}

}  // namespace waggle
