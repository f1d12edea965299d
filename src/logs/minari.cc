#include "logs/minari.h"

#include "core/check.h"

#ifndef WAGGLE_WITH_HDF5

namespace waggle {

std::unique_ptr<Table> open_minari(const std::filesystem::path& path) {
  throw Error(fmt::format("cannot read '{}': this waggle was built without HDF5 (the switch is {})",
                          path.string(), "WAGGLE_WITH_HDF5"));
}

}  // namespace waggle

#else

#include <algorithm>
#include <charconv>
#include <cmath>
#include <utility>

#include <hdf5.h>

#include "core/text.h"
#include "files/input_file.h"
#include "files/json.h"
#include "logs/isolated_table.h"

namespace waggle {

namespace {

constexpr hsize_t kBlockRows = 256;
constexpr hsize_t kChunkLimit = hsize_t{1} << 26;  // bytes HDF5 may have to unpack at once
constexpr int kDepthLimit = 8;                     // of dictionaries in dictionaries
constexpr std::size_t kEpisodeLimit = 10'000'000;

/// An identifier of the library, closed with its object.
class Handle {
 public:
  using Close = herr_t (*)(hid_t);
  Handle() = default;
  Handle(hid_t id, Close close) : id_(id), close_(close) {}
  Handle(Handle&& other) noexcept : id_(std::exchange(other.id_, -1)), close_(other.close_) {}
  Handle& operator=(Handle&& other) noexcept {
    std::swap(id_, other.id_);
    std::swap(close_, other.close_);
    return *this;
  }
  ~Handle() {
    if (id_ < 0) return;
    close_(id_);
  }
  bool ok() const { return id_ >= 0; }
  hid_t get() const { return id_; }

 private:
  hid_t id_ = -1;
  Close close_ = nullptr;
};

/// An array of one episode: `width` numbers for each of its steps.
struct Field {
  std::string name;  // in messages: "'file', episode_3/rewards"
  std::string path;  // below the episode
  Handle dataset;
  hsize_t rows = 0;
  hsize_t width = 1;
  std::vector<hsize_t> sizes;    // all dimensions
  hsize_t first = 0;             // step of the first row in the buffer
  std::vector<double> buffer{};  // up to kBlockRows rows

  double at(hsize_t row, hsize_t column) const { return buffer[(row - first) * width + column]; }

  /// Reads the rows from `start` on.
  void load(hsize_t start) {
    const hsize_t count = std::min(kBlockRows, rows - start);
    buffer.resize(count * width);
    first = start;
    std::vector<hsize_t> offset(sizes.size(), 0), extent(sizes);
    offset[0] = start;
    extent[0] = count;
    const hsize_t all = count * width;
    const Handle file_space(H5Dget_space(dataset.get()), &H5Sclose);
    const Handle memory_space(H5Screate_simple(1, &all, nullptr), &H5Sclose);
    const bool ok = file_space.ok() && memory_space.ok() &&
                    H5Sselect_hyperslab(file_space.get(), H5S_SELECT_SET, offset.data(), nullptr,
                                        extent.data(), nullptr) >= 0 &&
                    H5Dread(dataset.get(), H5T_NATIVE_DOUBLE, memory_space.get(), file_space.get(),
                            H5P_DEFAULT, buffer.data()) >= 0;
    require(ok, "{}: cannot be read from row {} on: the file is damaged", name, start + 1);
  }

  /// Makes sure the row is in the buffer.
  void reach(hsize_t row) {
    if (buffer.empty() || row < first || row >= first + kBlockRows) load(row);
  }
};

void require_numbers(const Field& field) {
  const Handle type(H5Dget_type(field.dataset.get()), &H5Tclose);
  const H5T_class_t kind = type.ok() ? H5Tget_class(type.get()) : H5T_NO_CLASS;
  // Booleans are enumerations in these files.
  require(kind == H5T_FLOAT || kind == H5T_INTEGER || kind == H5T_ENUM,
          "{}: must be numbers or booleans", field.name);
}

/// A packing that this HDF5 was built without is no damage, and can be undone elsewhere.
void require_filters(const Field& field, hid_t plan) {
  for (int i = 0; i < H5Pget_nfilters(plan); ++i) {
    unsigned flags = 0, config = 0;
    std::size_t parameters = 0;
    char name[32] = "";
    const H5Z_filter_t filter = H5Pget_filter2(plan, static_cast<unsigned>(i), &flags, &parameters,
                                               nullptr, sizeof name, name, &config);
    name[sizeof name - 1] = '\0';
    require(filter < 0 || H5Zfilter_avail(filter) > 0,
            "{}: packed by the filter {} ({}), which this HDF5 does not have; repack the file: "
            "h5repack -f GZIP=4",
            field.name, static_cast<int>(filter), printable(name));
  }
}

/// Nothing is read of an array whose data is not there, or that would need much memory to unpack.
void require_stored(const Field& field) {
  const Handle plan(H5Dget_create_plist(field.dataset.get()), &H5Pclose);
  const Handle type(H5Dget_type(field.dataset.get()), &H5Tclose);
  require(plan.ok() && type.ok(), "{}: cannot be read: the file is damaged", field.name);
  require_filters(field, plan.get());
  const hsize_t item = H5Tget_size(type.get());
  hsize_t wanted = field.rows * field.width * item, found = 0;
  if (H5Pget_layout(plan.get()) == H5D_CHUNKED) {
    std::vector<hsize_t> chunk(field.sizes.size(), 0);
    H5Pget_chunk(plan.get(), static_cast<int>(chunk.size()), chunk.data());
    hsize_t bytes = item;
    wanted = 1;
    for (std::size_t i = 0; i < chunk.size(); ++i) {
      require(chunk[i] >= 1 && bytes <= kChunkLimit / chunk[i],
              "{}: stored in chunks of more than {} bytes", field.name, kChunkLimit);
      bytes *= chunk[i];
      wanted *= (field.sizes[i] + chunk[i] - 1) / chunk[i];
    }
    const Handle space(H5Dget_space(field.dataset.get()), &H5Sclose);
    H5Dget_num_chunks(field.dataset.get(), space.get(), &found);
  } else {
    found = H5Dget_storage_size(field.dataset.get());
  }
  require(found >= wanted, "{}: the file holds less data than the array's size says", field.name);
}

Field open_field(hid_t episode, const std::string& path, const std::string& place) {
  Field field;
  field.path = path;
  field.name = place + "/" + path;
  field.dataset = Handle(H5Dopen2(episode, path.c_str(), H5P_DEFAULT), &H5Dclose);
  require(field.dataset.ok(), "{}: there is no such array", field.name);
  require_numbers(field);
  const Handle space(H5Dget_space(field.dataset.get()), &H5Sclose);
  const int rank = space.ok() ? H5Sget_simple_extent_ndims(space.get()) : -1;
  require(rank >= 1 && rank <= 8, "{}: must be an array with a row for every step", field.name);
  field.sizes.resize(static_cast<std::size_t>(rank));
  H5Sget_simple_extent_dims(space.get(), field.sizes.data(), nullptr);
  field.rows = field.sizes[0];
  for (std::size_t i = 1; i < field.sizes.size(); ++i) {
    require(field.sizes[i] >= 1 && field.sizes[i] <= kMaximumColumns / field.width,
            "{}: more than {} numbers for each step, or none", field.name, kMaximumColumns);
    field.width *= field.sizes[i];
  }
  require(field.rows >= 1 && field.rows <= std::uint64_t{1} << 40, "{}: {} rows, must be 1 to 2^40",
          field.name, field.rows);
  require_stored(field);
  return field;
}

/// The names of a group's entries, in order.
std::vector<std::string> names_in(hid_t group, const std::string& place, std::size_t limit) {
  struct Found {
    std::vector<std::string> names;
    std::size_t limit;
  } found{{}, limit};
  const auto add = [](hid_t, const char* name, const H5L_info_t*, void* to) -> herr_t {
    auto& into = *static_cast<Found*>(to);
    into.names.emplace_back(name);
    return into.names.size() > into.limit ? 1 : 0;  // 1 stops
  };
  const herr_t code = H5Literate(group, H5_INDEX_NAME, H5_ITER_INC, nullptr, add, &found);
  require(code >= 0, "{}: cannot be read: the file is damaged", place);
  require(code == 0, "{}: more than {} entries", place, limit);
  return std::move(found.names);
}

/// The arrays at or below a path, dictionaries and tuples flattened in the order of their names.
void open_fields(hid_t episode, const std::string& path, const std::string& place, int depth,
                 std::vector<Field>& fields) {
  const Handle object(H5Oopen(episode, path.c_str(), H5P_DEFAULT), &H5Oclose);
  require(object.ok() || H5Lexists(episode, path.c_str(), H5P_DEFAULT) <= 0,
          "{}/{}: cannot be opened: damaged, or written by a newer HDF5 than {}.{}.{}, which reads "
          "it here",
          place, path, H5_VERS_MAJOR, H5_VERS_MINOR, H5_VERS_RELEASE);
  require(object.ok(), "{}: there is no {}", place, shown(path));
  if (H5Iget_type(object.get()) != H5I_GROUP) {
    fields.push_back(open_field(episode, path, place));
    require(fields.size() <= 256, "{}: more than 256 arrays", place);
    return;
  }
  require(depth < kDepthLimit, "{}/{}: groups in groups, more than {} deep", place, path,
          kDepthLimit);
  const std::vector<std::string> names = names_in(object.get(), place + "/" + path, 256);
  require(!names.empty(), "{}/{}: the group is empty", place, path);
  for (const std::string& name : names) {
    open_fields(episode, fmt::format("{}/{}", path, name), place, depth + 1, fields);
  }
}

/// observations/goal → observation/goal: one row holds one observation.
std::string column_name(const std::string& path) {
  const std::size_t slash = std::min(path.find('/'), path.size());
  return path.substr(0, slash - 1) + path.substr(slash);
}

/// What the file has for one episode.
struct Episode {
  std::string place;          // "'file', episode_3"
  std::vector<Field> fields;  // rewards, terminations, actions …, observations …
  std::size_t observations;   // index of the first field of these
  hsize_t steps = 0;          // T
  bool terminated = false;

  hsize_t rows() const { return steps + (terminated ? 1 : 0); }
};

constexpr std::size_t kRewards = 0, kTerminations = 1, kActions = 2;

Episode open_episode(hid_t file, const std::string& name, const std::string& path) {
  Episode episode{fmt::format("'{}', {}", path, name), {}, 0};
  const Handle group(H5Gopen2(file, name.c_str(), H5P_DEFAULT), &H5Gclose);
  require(group.ok(), "{}: must be a group", episode.place);
  for (const char* array : {"rewards", "terminations", "actions", "observations"}) {
    episode.observations = episode.fields.size();
    open_fields(group.get(), array, episode.place, 0, episode.fields);
  }
  episode.steps = episode.fields[kRewards].rows;
  for (std::size_t i = 0; i < episode.fields.size(); ++i) {
    const Field& field = episode.fields[i];
    const hsize_t wanted = episode.steps + (i >= episode.observations ? 1 : 0);
    require(field.rows == wanted, "{}: {} rows, must be {} for {} rewards", field.name, field.rows,
            wanted, episode.steps);
    require(i >= kActions || (field.width == 1 && (i == kRewards ? field.path == "rewards"
                                                                 : field.path == "terminations")),
            "{}: must be one number for each step", field.name);
  }
  Field& terminations = episode.fields[kTerminations];
  terminations.load(episode.steps - 1);
  episode.terminated = terminations.at(episode.steps - 1, 0) != 0.0;
  return episode;
}

class MinariTable final : public Table {
 public:
  explicit MinariTable(const std::filesystem::path& path) : path_(path.string()) {
    H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);  // its messages would go to stderr
    file_ = Handle(H5Fopen(path.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT), &H5Fclose);
    require(file_.ok(), "'{}': not an HDF5 file, or a damaged one", path_);
    find_episodes();
    rewind();
    places_.push_back({kRewards, 0});
    columns_.push_back("reward");
    for (std::size_t i = kActions; i < episode_.fields.size(); ++i) {
      const Field& field = episode_.fields[i];
      append_channel_names(column_name(field.path), field.width, columns_);
      for (hsize_t j = 0; j < field.width; ++j) places_.push_back({i, j});
      layout_.emplace_back(field.path, field.width);
      require(columns_.size() <= kMaximumColumns, "'{}': more than {} columns", path_,
              kMaximumColumns);
    }
    columns_.insert(columns_.end(), {"episode", "terminated", "truncated"});
    require_column_names(columns_, path_);
  }

  const std::vector<std::string>& columns() const override { return columns_; }
  void use(const std::vector<std::size_t>&) override { rewind(); }

  void rewind() override {
    number_ = 0;
    open();
  }

  bool next() override {
    if (row_ == episode_.rows()) {
      if (number_ + 1 == names_.size()) return false;
      ++number_;
      open();
    }
    const hsize_t k = row_++;
    for (std::size_t i = 0; i < episode_.fields.size(); ++i) {
      if (i >= episode_.observations || k < episode_.steps) episode_.fields[i].reach(k);
    }
    previous_reward_ =
        std::exchange(reward_, k < episode_.steps ? episode_.fields[kRewards].at(k, 0) : 0.0);
    const bool early = k + 1 < episode_.steps && episode_.fields[kTerminations].at(k, 0) != 0.0;
    if (early) {
      throw Error(fmt::format("{}: terminated, but {} more steps follow", row_name(),
                              episode_.steps - k - 1));
    }
    return true;
  }

  Cell cell(std::size_t column) const override {
    const hsize_t k = row_ - 1;
    if (column >= places_.size()) {
      const bool last = row_ == episode_.rows();
      const bool values[] = {false, last && episode_.terminated, last && !episode_.terminated};
      const std::size_t which = column - places_.size();
      const double value = which == 0 ? static_cast<double>(number_) : (values[which] ? 1.0 : 0.0);
      return {Cell::Kind::number, value};
    }
    const Place& place = places_[column];
    if (place.field == kRewards) return number_cell(k == 0 ? 0.0 : previous_reward_);
    if (place.field < episode_.observations && k == episode_.steps) return {};
    return number_cell(episode_.fields[place.field].at(k, place.column));
  }

  std::string_view text(std::size_t column) const override {
    const Cell found = cell(column);
    text_ = found.kind == Cell::Kind::empty ? "" : fmt::format("{}", found.value);
    return text_;
  }

  std::string row_name() const override { return fmt::format("{}, row {}", episode_.place, row_); }

 private:
  struct Place {
    std::size_t field;
    hsize_t column;
  };

  static Cell number_cell(double value) {
    return {std::isfinite(value) ? Cell::Kind::number : Cell::Kind::not_finite, value};
  }

  void find_episodes() {
    std::vector<std::pair<std::uint64_t, std::string> > found;
    for (std::string& name : names_in(file_.get(), fmt::format("'{}'", path_), kEpisodeLimit)) {
      constexpr std::string_view prefix = "episode_";
      if (!name.starts_with(prefix)) continue;
      std::uint64_t number = 0;
      const char* const end = name.data() + name.size();
      const auto parsed = std::from_chars(name.data() + prefix.size(), end, number);
      if (parsed.ec == std::errc() && parsed.ptr == end)
        found.emplace_back(number, std::move(name));
    }
    require(!found.empty(), "'{}': not a Minari dataset: it has no groups episode_0, episode_1, …",
            path_);
    std::sort(found.begin(), found.end());
    for (auto& [number, name] : found) names_.push_back(std::move(name));
  }

  void open() {
    row_ = 0;
    episode_ = Episode{};  // closes what was open first
    episode_ = open_episode(file_.get(), names_[number_], path_);
    if (layout_.empty()) return;
    const auto fits = [&](const Field& field, const std::pair<std::string, hsize_t>& wanted) {
      return field.path == wanted.first && field.width == wanted.second;
    };
    require(std::equal(episode_.fields.begin() + kActions, episode_.fields.end(), layout_.begin(),
                       layout_.end(), fits),
            "{}: its actions and observations are not those of {}", episode_.place, names_[0]);
  }

  std::string path_;
  Handle file_;
  std::vector<std::string> names_;  // of the episodes
  std::vector<std::string> columns_;
  std::vector<Place> places_;                             // of all columns but the last three
  std::vector<std::pair<std::string, hsize_t> > layout_;  // actions, observations: path, width
  Episode episode_{};
  std::size_t number_ = 0;  // of the episode
  hsize_t row_ = 0;         // how many of it have been passed
  double reward_ = 0.0;     // what follows this row
  double previous_reward_ = 0.0;
  mutable std::string text_;
};

}  // namespace

std::unique_ptr<Table> open_minari(const std::filesystem::path& path) {
  const InputFile probe(path);  // says what is wrong with a path better than the library does
  return isolate(path.string(), [path] { return std::make_unique<MinariTable>(path); });
}

}  // namespace waggle

#endif
