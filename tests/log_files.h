#pragma once

#include <cstring>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <zip.h>

#ifdef WAGGLE_WITH_HDF5
#include <hdf5.h>
#endif

/// The bytes of an .npy file with this header dictionary and these bytes of data.
inline std::string npy_file(std::string header, std::string_view data, int version = 1) {
  const std::size_t prefix = version == 1 ? 10 : 12;
  while ((prefix + header.size() + 1) % 64 != 0) header += ' ';
  header += '\n';
  std::string file = "\x93NUMPY";
  file += static_cast<char>(version);
  file += '\0';
  for (std::size_t i = 0; i < prefix - 8; ++i) {
    file += static_cast<char>(header.size() >> (8 * i) & 0xFF);
  }
  return file + header + std::string(data);
}

template <typename T>
std::string bytes_of(const std::vector<T>& numbers) {
  std::string bytes(numbers.size() * sizeof(T), '\0');
  if (!numbers.empty()) std::memcpy(bytes.data(), numbers.data(), bytes.size());
  return bytes;
}

/// A vector of doubles as an .npy file.
inline std::string npy_vector(const std::vector<double>& numbers) {
  return npy_file("{'descr': '<f8', 'fortran_order': False, 'shape': (" +
                      std::to_string(numbers.size()) + ",), }",
                  bytes_of(numbers));
}

/// Writes a zip archive of these members.
inline bool write_zip(const std::string& path,
                      const std::vector<std::pair<std::string, std::string>>& members,
                      bool deflate) {
  int code = 0;
  zip_t* archive = zip_open(path.c_str(), ZIP_CREATE | ZIP_TRUNCATE, &code);
  if (archive == nullptr) return false;
  for (const auto& [name, content] : members) {
    zip_source_t* source = zip_source_buffer(archive, content.data(), content.size(), 0);
    const zip_int64_t index = zip_file_add(archive, name.c_str(), source, 0);
    if (index < 0) return false;
    zip_set_file_compression(archive, static_cast<zip_uint64_t>(index),
                             deflate ? ZIP_CM_DEFLATE : ZIP_CM_STORE, 0);
  }
  return zip_close(archive) == 0;
}

#ifdef WAGGLE_WITH_HDF5

/// Writes HDF5 files as Minari does: groups, and arrays by their path.
class Hdf5Writer {
 public:
  explicit Hdf5Writer(const std::string& path)
      : file_(H5Fcreate(path.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT)),
        links_(H5Pcreate(H5P_LINK_CREATE)) {
    H5Pset_create_intermediate_group(links_, 1);
  }
  ~Hdf5Writer() {
    H5Pclose(links_);
    H5Fclose(file_);
  }
  Hdf5Writer(const Hdf5Writer&) = delete;
  Hdf5Writer& operator=(const Hdf5Writer&) = delete;

  /// An array of doubles, stored as `type`; `chunk` rows at a time and deflated if > 0.
  void add(const std::string& path, const std::vector<hsize_t>& sizes,
           const std::vector<double>& numbers, hsize_t chunk = 0,
           hid_t type = H5T_NATIVE_DOUBLE) const {
    const hid_t space = H5Screate_simple(static_cast<int>(sizes.size()), sizes.data(), nullptr);
    const hid_t plan = H5Pcreate(H5P_DATASET_CREATE);
    if (chunk > 0) {
      std::vector<hsize_t> chunks = sizes;
      chunks[0] = chunk;
      H5Pset_chunk(plan, static_cast<int>(chunks.size()), chunks.data());
      H5Pset_deflate(plan, 6);
    }
    const hid_t set = H5Dcreate2(file_, path.c_str(), type, space, links_, plan, H5P_DEFAULT);
    if (!numbers.empty()) {
      H5Dwrite(set, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, numbers.data());
    }
    H5Dclose(set);
    H5Pclose(plan);
    H5Sclose(space);
  }
  /// Booleans as h5py writes them: an enumeration of FALSE and TRUE.
  void add_flags(const std::string& path, const std::vector<signed char>& flags) const {
    const hid_t type = H5Tenum_create(H5T_NATIVE_INT8);
    signed char value = 0;
    H5Tenum_insert(type, "FALSE", &value);
    value = 1;
    H5Tenum_insert(type, "TRUE", &value);
    const hsize_t size = flags.size();
    const hid_t space = H5Screate_simple(1, &size, nullptr);
    const hid_t set =
        H5Dcreate2(file_, path.c_str(), type, space, links_, H5P_DEFAULT, H5P_DEFAULT);
    H5Dwrite(set, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, flags.data());
    H5Dclose(set);
    H5Sclose(space);
    H5Tclose(type);
  }
  /// An episode of T steps: rewards 1, 2, …; action −t; observations (10t, 10t + 1).
  void add_episode(const std::string& name, int steps, bool terminated, hsize_t chunk = 0) const {
    std::vector<double> rewards, actions, observations;
    std::vector<signed char> terminations(static_cast<std::size_t>(steps), 0);
    std::vector<signed char> truncations = terminations;
    (terminated ? terminations : truncations).back() = 1;
    for (int t = 0; t <= steps; ++t) {
      if (t < steps) rewards.push_back(t + 1.0);
      if (t < steps) actions.push_back(-0.5 * t);
      observations.insert(observations.end(), {10.0 * t, 10.0 * t + 1.0});
    }
    const auto count = static_cast<hsize_t>(steps);
    add(name + "/rewards", {count}, rewards, chunk);
    add(name + "/actions", {count, 1}, actions, chunk, H5T_IEEE_F32BE);
    add(name + "/observations", {count + 1, 2}, observations, chunk);
    add_flags(name + "/terminations", terminations);
    add_flags(name + "/truncations", truncations);
  }
  hid_t file() const { return file_; }

 private:
  hid_t file_;
  hid_t links_;
};

#endif
