#include "logs/npy.h"

#include <algorithm>
#include <cmath>
#include <utility>

#ifdef WAGGLE_WITH_ZIP
#include <zip.h>
#endif

#include "core/check.h"
#include "core/text.h"
#include "files/input_file.h"

namespace waggle {

namespace {

constexpr std::size_t kBlockRows = 256;
constexpr std::size_t kBlockBytes = std::size_t{1} << 24;  // of all lanes, if a row is not more
constexpr std::size_t kLaneLimit = 1024;  // streams at a time: each holds an inflater in an archive

/// The bytes of one array's file from somewhere on.
class ByteStream {
 public:
  virtual ~ByteStream() = default;
  /// Up to `count` bytes, fewer only at the end.
  virtual std::size_t read(char* to, std::size_t count) = 0;
  virtual void skip(std::uint64_t count) = 0;
};

/// Where arrays are: a file by itself, or an archive.
class ArrayStore {
 public:
  virtual ~ArrayStore() = default;
  virtual std::unique_ptr<ByteStream> open(std::size_t member) const = 0;
};

class FileStream final : public ByteStream {
 public:
  explicit FileStream(const InputFile& file) : file_(file) {}
  std::size_t read(char* to, std::size_t count) override {
    const std::size_t got = file_.read(offset_, to, count);
    offset_ += got;
    return got;
  }
  void skip(std::uint64_t count) override { offset_ += count; }

 private:
  const InputFile& file_;
  std::uint64_t offset_ = 0;
};

class FileStore final : public ArrayStore {
 public:
  explicit FileStore(const std::filesystem::path& path) : file_(path) {}
  std::unique_ptr<ByteStream> open(std::size_t) const override {
    return std::make_unique<FileStream>(file_);
  }
  std::uint64_t size() const { return file_.size(); }

 private:
  InputFile file_;
};

#ifdef WAGGLE_WITH_ZIP

class ZipStream final : public ByteStream {
 public:
  ZipStream(zip_t* archive, std::size_t member, std::string name)
      : file_(zip_fopen_index(archive, member, 0), &zip_fclose), name_(std::move(name)) {
    require(file_ != nullptr, "{}: cannot be unpacked: {}", name_, zip_strerror(archive));
  }
  std::size_t read(char* to, std::size_t count) override {
    std::size_t done = 0;
    while (done < count) {
      const zip_int64_t got = zip_fread(file_.get(), to + done, count - done);
      require(got >= 0, "{}: cannot be unpacked: {}", name_, zip_file_strerror(file_.get()));
      if (got == 0) break;
      done += static_cast<std::size_t>(got);
    }
    return done;
  }
  void skip(std::uint64_t count) override {
    char scrap[4096];
    while (count > 0) {
      const std::size_t got = read(scrap, std::min<std::uint64_t>(count, sizeof scrap));
      if (got == 0) break;  // the file ends early, which the next read finds and reports
      count -= got;
    }
  }

 private:
  std::unique_ptr<zip_file_t, int (*)(zip_file_t*)> file_;
  std::string name_;
};

class ZipStore final : public ArrayStore {
 public:
  explicit ZipStore(const std::filesystem::path& path) : archive_(nullptr, &zip_discard) {
    const InputFile probe(path);  // says what is wrong with a path better than the library does
    path_ = path.string();
    int code = 0;
    archive_.reset(zip_open(path.c_str(), ZIP_RDONLY, &code));
    if (archive_ != nullptr) return;
    zip_error_t error;
    zip_error_init_with_code(&error, code);
    const std::string reason = zip_error_strerror(&error);
    zip_error_fini(&error);
    throw Error(fmt::format("'{}': not a NumPy archive: {}", path_, reason));
  }
  std::size_t count() const {
    return static_cast<std::size_t>(
        std::max<zip_int64_t>(zip_get_num_entries(archive_.get(), 0), 0));
  }
  std::string member(std::size_t index) const {
    const char* name = zip_get_name(archive_.get(), index, 0);
    return name == nullptr ? "" : name;
  }
  /// Unpacked.
  std::uint64_t size(std::size_t index) const {
    zip_stat_t status;
    const bool known = zip_stat_index(archive_.get(), index, 0, &status) == 0 &&
                       (status.valid & ZIP_STAT_SIZE) != 0;
    return known ? status.size : 0;
  }
  std::string name(std::size_t index) const {
    return fmt::format("'{}', member {}", path_, shown(member(index)));
  }
  std::unique_ptr<ByteStream> open(std::size_t index) const override {
    return std::make_unique<ZipStream>(archive_.get(), index, name(index));
  }

 private:
  std::unique_ptr<zip_t, void (*)(zip_t*)> archive_;
  std::string path_;
};

#endif

struct Array {
  std::string column;      // the name its columns start with
  std::string name;        // for messages
  std::size_t member = 0;  // in its store
  NpyHeader header;
  std::string problem;  // why it cannot be used, if it cannot
};

Array describe(const ArrayStore& store, std::size_t member, std::uint64_t size, std::string column,
               std::string name) {
  Array array;
  array.column = std::move(column);
  array.name = std::move(name);
  array.member = member;
  std::string start(std::min<std::uint64_t>(size, kNpyHeaderLimit), '\0');
  start.resize(store.open(member)->read(start.data(), start.size()));
  array.header = parse_npy_header(start, array.name);
  const std::uint64_t found = size - array.header.data_offset;
  require(found == array.header.data_size(),
          "{}: {} bytes of numbers, but its header says {} rows of {}: the file is {}", array.name,
          found, array.header.rows, array.header.row_size,
          found < array.header.data_size() ? "truncated" : "too long");
  return array;
}

class NpyTable final : public Table {
 public:
  NpyTable(const std::filesystem::path& path, std::unique_ptr<ArrayStore> store,
           std::vector<Array> arrays)
      : path_(path.string()), store_(std::move(store)), arrays_(std::move(arrays)) {
    for (std::size_t a = 0; a < arrays_.size(); ++a) {
      std::vector<NpyField> none(1);  // of an unsound array: its name can be asked for
      const std::vector<NpyField>& fields = arrays_[a].header.fields;
      for (const NpyField& field : fields.empty() ? none : fields) add_columns(a, field);
    }
    require_column_names(columns_, path_);
  }

  const std::vector<std::string>& columns() const override { return columns_; }

  void use(const std::vector<std::size_t>& columns) override {
    used_ = columns;
    const Array* first = nullptr;
    for (const std::size_t column : used_) {
      const Array& array = arrays_[places_[column].array];
      if (!array.problem.empty()) throw Error(array.problem);
      require(places_[column].decode != nullptr, "{}: the field {} must be numbers", array.name,
              shown(columns_[column]));
      if (first == nullptr) first = &array;
      require(array.header.rows == first->header.rows, "{}: {} rows, but {} has {}", array.name,
              array.header.rows, shown(first->column), first->header.rows);
    }
    rows_ = first == nullptr ? 0 : first->header.rows;
    rewind();
  }

  void rewind() override {
    lanes_.clear();
    row_ = 0;
    in_block_ = block_rows_ = 0;
    for (const std::size_t column : used_) open_lane(places_[column]);
    std::size_t row_size = 1;
    for (const Lane& lane : lanes_) row_size += lane.stride;
    most_rows_ = std::clamp<std::size_t>(kBlockBytes / row_size, 1, kBlockRows);
    for (Lane& lane : lanes_) {
      lane.bytes.resize(lane.stride * std::min<std::uint64_t>(most_rows_, rows_));
    }
  }

  bool next() override {
    if (row_ == rows_) return false;
    if (++in_block_ >= block_rows_) load();
    ++row_;
    return true;
  }

  Cell cell(std::size_t column) const override {
    const Place& place = places_[column];
    const Lane& lane = lanes_[place.lane];
    const double value = place.decode(lane.bytes.data() + in_block_ * lane.stride + place.offset);
    return {std::isfinite(value) ? Cell::Kind::number : Cell::Kind::not_finite, value};
  }

  std::string_view text(std::size_t column) const override {
    text_ = fmt::format("{}", cell(column).value);
    return text_;
  }

  std::string row_name() const override { return fmt::format("'{}', row {}", path_, row_); }

 private:
  /// A stream of numbers `stride` bytes apart from row to row: a matrix stored row by row is one
  /// lane, one stored column by column is a lane for every column.
  struct Lane {
    std::unique_ptr<ByteStream> stream;
    std::string name;
    std::size_t array;
    std::size_t column;  // the one it starts with
    std::size_t stride;
    bool last;  // in its array: nothing may follow
    std::vector<char> bytes;
  };
  struct Place {
    std::size_t array;
    std::size_t column;             // of the field
    std::size_t start;              // in a row of the array, bytes
    double (*decode)(const char*);  // null: no number
    std::size_t lane = 0;
    std::size_t offset = 0;  // in a row of the lane, bytes
  };

  void add_columns(std::size_t array, const NpyField& field) {
    const bool records = arrays_[array].header.fields.size() > 1 || !field.name.empty();
    if (records && field.name.empty()) return;  // padding
    append_channel_names(records ? field.name : arrays_[array].column, field.width, columns_);
    require(columns_.size() <= kMaximumNames, "'{}': more than {} columns", path_, kMaximumNames);
    for (std::size_t i = 0; places_.size() < columns_.size(); ++i) {
      const std::uint64_t start = field.offset + i * field.item_size;
      places_.push_back({array, i, static_cast<std::size_t>(start), field.decode});
    }
  }

  void open_lane(Place& place) {
    const Array& array = arrays_[place.array];
    const NpyHeader& header = array.header;
    const NpyField& all = header.fields.front();
    const bool by_column = header.fortran_order && header.dimensions == 2 && all.width > 1;
    const std::size_t first = by_column ? place.column : 0;
    place.offset = by_column ? 0 : place.start;
    const auto same = std::find_if(lanes_.begin(), lanes_.end(), [&](const Lane& lane) {
      return lane.array == place.array && lane.column == first;
    });
    place.lane = static_cast<std::size_t>(same - lanes_.begin());
    if (same != lanes_.end()) return;
    require(lanes_.size() < kLaneLimit,
            "'{}': more than {} columns stored one by one; save them as a matrix in C order", path_,
            kLaneLimit);
    Lane lane{store_->open(array.member),
              array.name,
              place.array,
              first,
              static_cast<std::size_t>(by_column ? all.item_size : header.row_size),
              !by_column || first + 1 == all.width,
              {}};
    lane.stream->skip(header.data_offset + first * header.rows * all.item_size);
    lanes_.push_back(std::move(lane));
  }

  void load() {
    in_block_ = 0;
    block_rows_ = static_cast<std::size_t>(std::min<std::uint64_t>(most_rows_, rows_ - row_));
    const bool final_block = row_ + block_rows_ == rows_;
    for (Lane& lane : lanes_) {
      const std::size_t wanted = block_rows_ * lane.stride;
      const std::size_t got = lane.stream->read(lane.bytes.data(), wanted);
      require(got == wanted, "{}: the data ends at row {} of {}", lane.name,
              row_ + got / lane.stride + 1, rows_);
      // An archive's checksum is compared only where its member ends.
      char extra = 0;
      require(!final_block || !lane.last || lane.stream->read(&extra, 1) == 0,
              "{}: the data goes on after the last row", lane.name);
    }
  }

  std::string path_;
  std::unique_ptr<ArrayStore> store_;
  std::vector<Array> arrays_;
  std::vector<std::string> columns_;
  std::vector<Place> places_;  // of every column
  std::vector<std::size_t> used_;
  std::vector<Lane> lanes_;
  std::uint64_t rows_ = 0;
  std::uint64_t row_ = 0;  // how many have been passed
  std::size_t in_block_ = 0;
  std::size_t block_rows_ = 0;
  std::size_t most_rows_ = kBlockRows;  // of a block
  mutable std::string text_;
};

}  // namespace

#ifdef WAGGLE_WITH_ZIP

std::unique_ptr<Table> open_npz(const std::filesystem::path& path) {
  auto store = std::make_unique<ZipStore>(path);
  const std::size_t count = store->count();
  require(count <= kMaximumColumns, "'{}': {} members, must be at most {}", path.string(), count,
          kMaximumColumns);
  std::vector<Array> arrays;
  for (std::size_t i = 0; i < count; ++i) {
    std::string column = store->member(i);
    if (!column.ends_with(".npy")) continue;
    column.resize(column.size() - 4);
    try {
      arrays.push_back(describe(*store, i, store->size(i), column, store->name(i)));
    } catch (const Error& error) {
      Array& unsound = arrays.emplace_back();
      unsound.column = column;
      unsound.problem = error.what();
    }
  }
  require(!arrays.empty(), "'{}': the archive has no arrays", path.string());
  return std::make_unique<NpyTable>(path, std::move(store), std::move(arrays));
}

#else

std::unique_ptr<Table> open_npz(const std::filesystem::path& path) {
  throw Error(fmt::format("cannot read '{}': this waggle was built without zip (the switch is {})",
                          path.string(), "WAGGLE_WITH_ZIP"));
}

#endif

std::unique_ptr<Table> open_npy(const std::filesystem::path& path) {
  auto store = std::make_unique<FileStore>(path);
  const std::uint64_t size = store->size();
  std::vector<Array> arrays;
  arrays.push_back(
      describe(*store, 0, size, path.stem().string(), fmt::format("'{}'", path.string())));
  return std::make_unique<NpyTable>(path, std::move(store), std::move(arrays));
}

}  // namespace waggle
