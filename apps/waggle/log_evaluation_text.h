#pragma once

#include <string>

#include <nlohmann/json.hpp>

#include <waggle/evaluation.h>

namespace waggle::app {

/// What a log says of a model, as lines of a table.
std::string to_table(const Model& model, const LogEvaluation& evaluation);

nlohmann::ordered_json to_json(const Model& model, const LogEvaluation& evaluation);

/// The rows that were kept, as CSV.
std::string rows_csv(const Model& model, const LogEvaluation& evaluation);

}  // namespace waggle::app
