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
bool set_type(NpyField& field) {
  const std::string& type = field.type;
  if (type.size() != 3) return false;
  const char order = type[0];
  if (order != '<' && order != '>' && order != '|' && order != '=') return false;
  constexpr bool little = std::endian::native == std::endian::little;
  const bool swap = (order == '<' && !little) || (order == '>' && little);
  const std::string_view kind = std::string_view(type).substr(1);
  field.item_size = static_cast<std::size_t>(type[2] - '0');
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
    if (kind == code) field.decode = function;
  }
  return field.decode != nullptr;
}

/// Sets the size of what is no number: text (U has four bytes a letter), padding or a time, with
/// its unit in brackets; false if it is nothing of the kind.
bool set_size(NpyField& field) {
  const std::string_view type = field.type;
  if (type.size() < 3) return false;
  const bool text = type[1] == 'U' || type[1] == 'S' || type[1] == 'V';
  if (!text && type[1] != 'M' && type[1] != 'm') return false;
  const char* const last = type.data() + type.size();
  const auto [end, code] = std::from_chars(type.data() + 2, last, field.item_size);
  if (type[1] == 'U') field.item_size *= 4;
  return code == std::errc() && field.item_size >= 1 && field.item_size <= kNpyRowLimit &&
         (text ? end == last : *end == '[' || end == last);
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

void require_known(const NpyField& field, bool known, const std::string& name) {
  require(
      field.type.find('O') == std::string::npos,
      "{}: an array of Python objects; reading it would run code, so it must be saved as numbers",
      name);
  require(known, "{}: numbers of type {}, must be f8, f4, i8 to i1, u8 to u1 or b1", name,
          shown(field.type));
}

/// The fields of records: [('name', '<f8'), ('vector', '<f4', (3,)), …], where (title, name) may
/// stand for the name. A field without one is padding.
std::vector<NpyField> read_fields(LiteralReader& reader, const std::string& name) {
  std::vector<NpyField> fields;
  std::uint64_t offset = 0;
  while (!reader.accept("]")) {
    NpyField field;
    reader.expect("(");
    const bool titled = reader.accept("(");
    field.name = reader.string();
    if (titled) {
      reader.expect(",");
      field.name = reader.string();
      reader.expect(")");
    }
    reader.expect(",");
    require(!reader.accept("["), "{}: the field {} is a record itself; save it by itself", name,
            shown(field.name));
    field.type = reader.string();
    if (reader.accept(",")) {
      const std::vector<std::uint64_t> shape = reader.shape();
      require(shape.size() <= 1, "{}: the field {} has {} dimensions, must be a number or a vector",
              name, shown(field.name), shape.size());
      if (!shape.empty()) field.width = shape[0];
    }
    reader.expect(")");
    require_known(field, set_type(field) || set_size(field), name);
    require(field.width >= 1 && field.width <= kMaximumNames,
            "{}: the field {} has {} numbers, must have 1 to {}", name, shown(field.name),
            field.width, kMaximumNames);
    field.offset = offset;
    offset += field.width * field.item_size;
    require(offset <= kNpyRowLimit, "{}: records of more than {} bytes", name, kNpyRowLimit);
    fields.push_back(std::move(field));
    if (!reader.accept(",")) {
      reader.expect("]");
      break;
    }
  }
  require(!fields.empty(), "{}: records without fields", name);
  return fields;
}

void set_shape(NpyHeader& header, const std::vector<std::uint64_t>& shape, bool records,
               const std::string& name) {
  require(!records || shape.size() == 1,
          "{}: records in an array of {} dimensions, must be a vector (rows are steps)", name,
          shape.size());
  require(shape.size() == 1 || shape.size() == 2,
          "{}: an array of {} dimensions, must be a vector or a matrix (rows are steps)", name,
          shape.size());
  header.dimensions = static_cast<int>(shape.size());
  header.rows = shape[0];
  NpyField& last = header.fields.back();
  if (shape.size() == 2) last.width = shape[1];
  require(last.width >= 1 && last.width <= kMaximumNames,
          "{}: a matrix of {} columns, must be 1 to {}", name, last.width, kMaximumNames);
  header.row_size = last.offset + last.width * last.item_size;
  // Half the range, so that adding an offset cannot overflow either.
  const std::uint64_t limit = std::numeric_limits<std::uint64_t>::max() / 2 / header.row_size;
  require(header.rows <= limit, "{}: {} rows of {} bytes are more than any file holds", name,
          header.rows, header.row_size);
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
  bool records = false, has_order = false, has_shape = false;
  reader.expect("{");
  while (!reader.accept("}")) {
    const std::string key = reader.string();
    reader.expect(":");
    if (key == "descr") {
      records = reader.accept("[");
      if (records) {
        header.fields = read_fields(reader, name);
      } else {
        header.fields.assign(1, NpyField{.name = "", .type = reader.string()});
        require_known(header.fields[0], set_type(header.fields[0]), name);
      }
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
  require(!header.fields.empty() && has_order && has_shape, "{}: the header must have {}", name,
          "'descr', 'fortran_order' and 'shape'");
  set_shape(header, shape, records, name);
  return header;
}

}  // namespace waggle
