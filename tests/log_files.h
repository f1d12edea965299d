#pragma once

#include <cstring>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <zip.h>

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
