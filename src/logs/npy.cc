#include "logs/npy.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstring>
#include <functional>
#include <utility>

#ifdef WAGGLE_WITH_ZIP
#include <zip.h>
#endif

#include <waggle/detail/text.h>

#include "core/check.h"
#include "files/input_file.h"
#include "logs/columns_table.h"

namespace waggle {

namespace {

constexpr std::size_t kReadBytes = std::size_t{1} << 20;  // at a time, whatever a file claims
constexpr std::size_t kHeaderLimit = 4096;                // numpy's own are about a hundred bytes
constexpr std::uint64_t kMostArrayRows = 1ull << 40;  // with 2²⁰ columns of 8 bytes: no overflow

using Decode = double (*)(const char*);

template <typename T, bool Swap>
double decode(const char* bytes) {
  char copy[sizeof(T)];
  std::memcpy(copy, bytes, sizeof(T));
  if constexpr (Swap) std::reverse(copy, copy + sizeof(T));
  T value;
  std::memcpy(&value, copy, sizeof(T));
  return static_cast<double>(value);
}

template <typename T>
Decode decoder(bool swap) {
  return swap ? &decode<T, true> : &decode<T, false>;
}

/// How a number of this type, such as <f8, is read; null if it cannot be.
Decode decoder_of(std::string_view type) {
  if (type.size() != 3) return nullptr;
  const bool swap = type[0] == (std::endian::native == std::endian::little ? '>' : '<');
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
      {"b1", [](const char* byte) { return *byte != 0 ? 1.0 : 0.0; }},
  };
  for (const auto& [code, function] : known) {
    if (type.substr(1) == code) return function;
  }
  return nullptr;
}

/// One array: what its header says, and its bytes once it is used.
struct Array {
  std::string column;  // the name its columns start with
  std::string name;    // for messages
  Decode decode = nullptr;
  std::size_t item = 0;  // bytes of a number
  bool by_column = false;
  std::uint64_t rows = 0;
  std::uint64_t width = 1;
  std::uint64_t size = 0;   // bytes, the header's included
  std::uint64_t start = 0;  // of the numbers
  std::string bytes{};
  std::string problem{};  // why it cannot be used, if it cannot
  /// Its first bytes, so many if there are as many.
  std::function<std::string(std::uint64_t count)> read{};

  double at(std::uint64_t row, std::uint64_t i) const {
    return decode(&bytes[start + item * (by_column ? i * rows + row : row * width + i)]);
  }
};

/// What stands behind 'key': in the header's dictionary, up to one of the characters that end it.
std::string_view entry(const Array& array, std::string_view header, std::string_view key,
                       std::string_view ends) {
  std::size_t at = header.find(fmt::format("'{}':", key));
  require(at != std::string_view::npos, "{}: the header has no '{}'", array.name, key);
  at = header.find_first_not_of(' ', at + key.size() + 3);
  const std::size_t end = header.find_first_of(ends, at);
  require(end != std::string_view::npos, "{}: the header is malformed: '{}' has no end", array.name,
          key);
  return header.substr(at, end - at);
}

void read_type(Array& array, std::string_view header) {
  std::string_view type = entry(array, header, "descr", ",}");
  require(!type.starts_with("["),
          "{}: an array of records; save each field by itself: numpy.savez('log.npz', **{{n: a[n] "
          "for n in a.dtype.names}})",
          array.name);
  require(type.find('O') == std::string_view::npos,
          "{}: an array of Python objects; reading it would run code, so it must be saved as "
          "numbers",
          array.name);
  if (type.size() > 2) type = type.substr(1, type.size() - 2);  // without its quotes
  array.decode = decoder_of(type);
  require(array.decode != nullptr,
          "{}: numbers of type {}, must be f8, f4, i8 to i1, u8 to u1 or b1", array.name,
          shown(type));
  array.item = static_cast<std::size_t>(type[2] - '0');
}

void read_shape(Array& array, std::string_view header) {
  std::string_view shape = entry(array, header, "shape", ")");
  std::uint64_t sizes[2] = {0, 1};
  int dimensions = 0;
  while (!shape.empty()) {
    shape.remove_prefix(1);  // the bracket, or a comma
    while (shape.starts_with(' ')) shape.remove_prefix(1);
    if (shape.empty()) break;
    std::uint64_t size = 0;
    const auto [end, code] = std::from_chars(shape.data(), shape.data() + shape.size(), size);
    require(code == std::errc() && size <= kMostArrayRows,
            "{}: the header's shape is malformed at {}", array.name, shown(shape));
    shape.remove_prefix(static_cast<std::size_t>(end - shape.data()));
    if (dimensions < 2) sizes[dimensions] = size;
    ++dimensions;
  }
  require(dimensions == 1 || dimensions == 2,
          "{}: an array of {} dimensions, must be a vector or a matrix (rows are steps)",
          array.name, dimensions);
  array.rows = sizes[0];
  array.width = sizes[1];
  require(array.width >= 1 && array.width <= kMaximumNames,
          "{}: a matrix of {} columns, must be 1 to {}", array.name, array.width, kMaximumNames);
}

/// Reads the start of a file of so many bytes.
void read_header(Array& array, std::uint64_t size) {
  const std::string bytes = array.read(kHeaderLimit + 12);
  require(bytes.starts_with("\x93NUMPY") && bytes.size() >= 12, "{}: not a NumPy array (no header)",
          array.name);
  const auto byte = [&](std::size_t i) {
    return std::uint64_t{static_cast<unsigned char>(bytes[i])};
  };
  require(byte(6) >= 1 && byte(6) <= 3, "{}: NumPy format version {}, must be 1, 2 or 3",
          array.name, byte(6));
  const bool first = byte(6) == 1;
  const std::uint64_t length =
      byte(8) + 256 * byte(9) + (first ? 0 : (byte(10) + 256 * byte(11)) << 16);
  array.start = (first ? 10 : 12) + length;
  require(length <= kHeaderLimit, "{}: a header of {} bytes, must be at most {}", array.name,
          length, kHeaderLimit);
  require(array.start <= bytes.size(), "{}: the file ends inside its header", array.name);
  const std::string_view header(&bytes[first ? 10 : 12], length);
  read_type(array, header);
  array.by_column = entry(array, header, "fortran_order", ",}") == "True";
  read_shape(array, header);
  const std::uint64_t wanted = array.rows * array.width * array.item, found = size - array.start;
  require(found == wanted,
          "{}: {} bytes of numbers, but its header says {} rows of {}: the file is {}", array.name,
          found, array.rows, array.width * array.item, found < wanted ? "truncated" : "too long");
  array.size = size;
}

#ifdef WAGGLE_WITH_ZIP

/// Arrays that refer to the archive they are in.
std::vector<Array> arrays_in(const std::filesystem::path& path) {
  const InputFile probe(path);  // says what is wrong with a path better than the library does
  const std::shared_ptr<zip_t> zip(zip_open(path.c_str(), ZIP_RDONLY, nullptr), [](zip_t* archive) {
    if (archive != nullptr) zip_discard(archive);
  });
  require(zip != nullptr, "'{}': not a NumPy archive", path.string());
  const zip_int64_t count = zip_get_num_entries(zip.get(), 0);
  require(count <= static_cast<zip_int64_t>(kMaximumColumns),
          "'{}': {} members, must be at most {}", path.string(), count, kMaximumColumns);
  std::vector<Array> arrays;
  for (zip_uint64_t i = 0; i < static_cast<zip_uint64_t>(count); ++i) {
    const char* const listed = zip_get_name(zip.get(), i, 0);
    const std::string_view member = listed == nullptr ? "" : listed;
    if (!member.ends_with(".npy")) continue;
    Array& array = arrays.emplace_back();
    array.column = member.substr(0, member.size() - 4);
    array.name = fmt::format("'{}', member {}", path.string(), shown(member));
    array.read = [zip, i, name = array.name](std::uint64_t wanted) {
      const std::unique_ptr<zip_file_t, int (*)(zip_file_t*)> file(zip_fopen_index(zip.get(), i, 0),
                                                                   &zip_fclose);
      require(file != nullptr, "{}: cannot be unpacked: {}", name, zip_strerror(zip.get()));
      std::string bytes;
      for (zip_int64_t got = 1; got > 0 && bytes.size() < wanted;) {
        const std::size_t passed = bytes.size();
        bytes.resize(std::min<std::uint64_t>(wanted, passed + kReadBytes));
        got = zip_fread(file.get(), &bytes[passed], bytes.size() - passed);
        require(got >= 0, "{}: cannot be unpacked: {}", name, zip_file_strerror(file.get()));
        bytes.resize(passed + static_cast<std::size_t>(got));
      }
      return bytes;
    };
    try {
      zip_stat_t status;
      const bool known =
          zip_stat_index(zip.get(), i, 0, &status) == 0 && (status.valid & ZIP_STAT_SIZE) != 0;
      read_header(array, known ? status.size : 0);
    } catch (const Error& error) {
      array.problem = error.what();
      array.width = 1;
    }
  }
  require(!arrays.empty(), "'{}': the archive has no arrays", path.string());
  return arrays;
}

#else

std::vector<Array> arrays_in(const std::filesystem::path& path) {
  throw Error(fmt::format("cannot read '{}': this waggle was built without zip (the switch is {})",
                          path.string(), "WAGGLE_WITH_ZIP"));
}

#endif

/// A table whose columns are those of the arrays, which are read when one is used.
std::unique_ptr<Table> open_arrays(std::vector<Array> given, const std::string& path) {
  const auto arrays = std::make_shared<std::vector<Array>>(std::move(given));
  std::vector<MemoryColumn> columns;
  for (Array& array : *arrays) {
    std::vector<std::string> names;
    append_channel_names(array.column, array.width, names);
    require(columns.size() + names.size() <= kMaximumNames, "'{}': more than {} columns", path,
            kMaximumNames);
    const auto prepare = [arrays, &array] {
      if (!array.problem.empty()) throw Error(array.problem);
      // One byte more, since an archive's checksum is compared where its member ends.
      if (array.bytes.empty()) array.bytes = array.read(array.size + 1);
      require(array.bytes.size() == array.size, "{}: {} bytes, where there were {}", array.name,
              array.bytes.size(), array.size);
    };
    for (std::uint64_t i = 0; i < names.size(); ++i) {
      const auto number = [arrays, &array, i](std::uint64_t row) { return array.at(row, i); };
      columns.push_back({std::move(names[i]), array.rows, number, nullptr, prepare});
    }
  }
  return open_columns(std::move(columns), path);
}

}  // namespace

std::unique_ptr<Table> open_npy(const std::filesystem::path& path) {
  const auto file = std::make_shared<const InputFile>(path);
  std::vector<Array> arrays(1);
  arrays[0].column = path.stem().string();
  arrays[0].name = fmt::format("'{}'", path.string());
  arrays[0].read = [file](std::uint64_t count) {
    std::string bytes(std::min(count, file->size()), '\0');
    bytes.resize(file->read(0, bytes.data(), bytes.size()));
    return bytes;
  };
  read_header(arrays[0], file->size());
  return open_arrays(std::move(arrays), path.string());
}

std::unique_ptr<Table> open_npz(const std::filesystem::path& path) {
  return open_arrays(arrays_in(path), path.string());
}

}  // namespace waggle
