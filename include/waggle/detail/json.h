#pragma once

#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

namespace waggle {

/// Parses JSON that may be hostile: nesting deeper than `depth`, a key given twice, text that is
/// not UTF-8 and more than a million values are refused, beside what is not JSON. Throws Error,
/// which names `where`.
nlohmann::json parse_json(std::string_view text, const std::string& where, int depth = 8);

/// Text out of a file, fit for a message of one line: escaped, and cut if it is long.
std::string printable(std::string_view text);
/// The same in quotes.
std::string in_quotes(std::string_view name);

}  // namespace waggle
