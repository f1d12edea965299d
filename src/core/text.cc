#include <algorithm>
#include <cctype>
#include <utility>

#include <fmt/format.h>

#include <waggle/detail/text.h>

namespace waggle {

namespace {

constexpr std::size_t kShownBytes = 60;
constexpr std::size_t kShownNames = 12;
constexpr std::size_t kComparedBytes =
    64;  // names may be hostile: the distance takes their product

std::string lower(std::string_view text) {
  std::string result(text.substr(0, kComparedBytes));
  for (char& c : result) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return result;
}

std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);  // distances from a's first i characters to b's
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::size_t diagonal = std::exchange(row[0], i + 1);
    for (std::size_t j = 0; j < b.size(); ++j) {
      const std::size_t replaced = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({replaced, row[j] + 1, diagonal + 1});
    }
  }
  return row.back();
}

}  // namespace

std::string shown(std::string_view text) {
  const bool cut = text.size() > kShownBytes;
  if (cut) {
    std::size_t end = kShownBytes;
    const auto continues = [&] { return (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80; };
    while (end > kShownBytes - 4 && continues()) --end;  // not in the middle of a character
    text = text.substr(0, end);
  }
  std::string result = "'";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte == 0x7F) {
      result += fmt::format("\\x{:02X}", byte);
    } else {
      result += c;
    }
  }
  return result + (cut ? "…'" : "'");
}

std::string listed(std::span<const std::string> names) {
  std::string result;
  const std::size_t count = std::min(names.size(), kShownNames);
  for (std::size_t i = 0; i < count; ++i) {
    const bool last = i + 1 == names.size();
    result += (i == 0 ? "" : last ? " and " : ", ") + shown(names[i]);
  }
  if (names.size() > count) result += fmt::format(" and {} more", names.size() - count);
  return result;
}

std::string counted(std::int64_t count, std::string_view thing) {
  return fmt::format("{} {}{}", count, thing, count == 1 ? "" : "s");
}

std::string in_words(std::span<const std::string> words, std::string_view last) {
  std::string text;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (i > 0) text += i + 1 < words.size() ? ", " : fmt::format(" {} ", last);
    text += words[i];
  }
  return text;
}

std::vector<std::string> nearest_names(std::string_view name,
                                       std::span<const std::string> candidates, std::size_t count) {
  const std::string wanted = lower(name);
  const std::size_t limit = std::max<std::size_t>(2, wanted.size() / 3);
  std::vector<std::pair<std::size_t, std::size_t>> near;  // distance, index
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    const std::string candidate = lower(candidates[i]);
    const std::size_t distance = edit_distance(wanted, candidate);
    // A distance of the whole length means that no character is left of the name: by that measure
    // any two names of one letter would be near each other.
    if (distance <= limit && distance < std::max(wanted.size(), candidate.size()))
      near.emplace_back(distance, i);
  }
  std::sort(near.begin(), near.end());
  std::vector<std::string> result;
  for (std::size_t i = 0; i < std::min(count, near.size()); ++i) {
    result.push_back(candidates[near[i].second]);
  }
  return result;
}

std::string missing_name(std::string_view what, std::string_view name,
                         std::span<const std::string> candidates) {
  std::string result = fmt::format("there is no {} {}", what, shown(name));
  const std::vector<std::string> near = nearest_names(name, candidates);
  if (near.size() == 1) return result + "; did you mean " + shown(near[0]) + "?";
  if (!near.empty()) return result + "; the nearest are " + listed(near);
  return result +
         (candidates.empty() ? "; there is none at all" : "; there is " + listed(candidates));
}

}  // namespace waggle
