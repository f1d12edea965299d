#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include <waggle/model.h>
#include <waggle/supervised.h>

namespace waggle {

/// The version of the file format that is written and read.
inline constexpr int kModelFormatVersion = 3;

/// Writes the model as a safetensors file, whole or not at all. Throws Error if it is not valid or
/// of a kind that there are no files of, std::runtime_error if it cannot be written.
void save_model(const std::filesystem::path& path, const Model& model);
/// Reads one. Nothing in the file is trusted: throws Error, naming the file and the part, if it is
/// no model, damaged, inconsistent, or of another format.
Model load_model(const std::filesystem::path& path);

/// The same from and to bytes; `name` is for messages.
std::string serialise(const Model& model);
Model parse_model(std::string_view bytes, const std::string& name);

/// A readout and its network in the same way, but for its options' seed and in_sample. Throws Error
/// if the reservoir is no echo state network.
std::string serialise(const Supervised& model);
Supervised parse_supervised(std::string_view bytes, const std::string& name);

}  // namespace waggle
