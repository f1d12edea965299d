#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace waggle {

/// The text as an error message may show it: in quotes, on one line, control characters written
/// out, and cut where it is longer than a person would read.
std::string shown(std::string_view text);

/// "'a', 'b', 'c' and 4 more": the names as an error message may list them.
std::string listed(std::span<const std::string> names);

/// "a, b and c": the words as a sentence lists them, `last` being its "and" or "or".
std::string in_words(std::span<const std::string> words, std::string_view last);

/// "1 row", "2 rows": so many of a thing.
std::string counted(std::int64_t count, std::string_view thing);

/// Up to `count` of the candidates a person who typed `name` may have meant, nearest first: those
/// within an edit distance (insert, delete, replace a character, ignoring case) of a third of the
/// name's length, but at least 2, that have a character in common. Equally near ones keep their
/// order.
std::vector<std::string> nearest_names(std::string_view name,
                                       std::span<const std::string> candidates,
                                       std::size_t count = 3);

/// "there is no column 'rewrad'; did you mean 'reward'?", or all names there are if none is near.
/// `what` is the kind of thing that is missing.
std::string missing_name(std::string_view what, std::string_view name,
                         std::span<const std::string> candidates);

}  // namespace waggle
