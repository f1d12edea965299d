#pragma once

#include <string>

#include <nlohmann/json.hpp>

#include <waggle/model.h>

namespace waggle::app {

/// What a model was learnt from and how well, for a person.
std::string learnt_table(const Model& model);
/// The same, and all options, for a machine.
nlohmann::ordered_json model_json(const Model& model);

/// The echo state network a model remembers with.
const EchoStateNetwork& memory_network(const Model& model);

/// A line "  label   value" of such a table.
std::string table_line(const std::string& label, const std::string& value);

}  // namespace waggle::app
