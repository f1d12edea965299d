#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace waggle {

/// What a tensor's numbers are, in little-endian bytes.
enum class Dtype { f64, f32, i64, u8, boolean };

/// The name in a file, such as F64, and the bytes of one number.
std::string_view name_of(Dtype dtype);
std::size_t size_of(Dtype dtype);

/// An array of numbers, the last index running fastest.
struct Tensor {
  Dtype dtype = Dtype::f64;
  std::vector<std::uint64_t> shape;  ///< a single number if empty
  std::string bytes;
};

/// The content of a safetensors file: the length of the header in 8 little-endian bytes; the
/// header, a JSON object of {dtype, shape, data_offsets} for each tensor and a string for each key
/// of __metadata__; the bytes of the tensors.
struct Safetensors {
  std::map<std::string, std::string> metadata;
  std::map<std::string, Tensor> tensors;
};

/// Reads a file's bytes; `name` is the file's, for messages. Nothing in it is trusted: throws Error
/// for lengths, shapes, types and offsets that do not fit each other or the bytes there are,
/// tensors that overlap or leave a hole, names given twice, and text that is not JSON in UTF-8.
Safetensors parse_safetensors(std::string_view bytes, const std::string& name);
/// The same for a file. Throws Error if it cannot be read.
Safetensors read_safetensors(const std::filesystem::path& path);

/// The bytes of the file, its header padded so that the tensors are aligned for their numbers.
/// Throws Error if a tensor's bytes do not fit its shape.
std::string serialise(const Safetensors& content);

/// A whole file's bytes. Throws Error unless it is a regular file that can be read.
std::string read_whole_file(const std::filesystem::path& path);

}  // namespace waggle
