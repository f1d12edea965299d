#pragma once

#include <string>

#include <nlohmann/json.hpp>

namespace waggle::app {

/// Reading JSON that may lack anything: a file may come from an older version or be damaged.

/// A member of an object; null if it is missing or this is no object. Refers into `object`.
const nlohmann::ordered_json& member_of(const nlohmann::ordered_json& object,
                                        const std::string& key);
/// It as text; empty if it is none.
std::string text_in(const nlohmann::ordered_json& object, const std::string& key);

}  // namespace waggle::app
