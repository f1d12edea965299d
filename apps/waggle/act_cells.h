#pragma once

#include <optional>
#include <string>

#include <nlohmann/json.hpp>

/// What stands in the lines that `waggle act` reads, value by value. All throw Error, naming what
/// it is, for what cannot be.
namespace waggle::app {

/// A finite number.
double number(const nlohmann::json& json, const std::string& name);

/// What a sensor says: NaN and infinity, too, which are for the guard.
double reading(const nlohmann::json& json, const std::string& name);

/// Puts quotes around what some programs write for numbers that JSON has none for.
std::string with_quoted_words(const std::string& line);

/// The finite number a label is, if it is one.
std::optional<double> number_in(const std::string& text);
/// A label that is a number is the same however it is written.
bool same_label(const std::string& a, const std::string& b);
std::string label_in(const nlohmann::json& json, const std::string& name);

}  // namespace waggle::app
