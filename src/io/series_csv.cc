#include "io/series_csv.h"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstring>
#include <fstream>
#include <numeric>
#include <sstream>
#include <string_view>

#include <fmt/ranges.h>

#include "core/check.h"

namespace waggle {

using Eigen::Index;

namespace {

std::string read_text(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  require(file.is_open(), "cannot read '{}': {}", path.string(), std::strerror(errno));
  errno = 0;
  text << file.rdbuf();
  // An empty file sets the stream's fail bit too: that is no error of reading.
  require(!file.bad() && errno == 0, "cannot read '{}': {}", path.string(), std::strerror(errno));
  return text.str();
}

/// Cuts a text into records of cells, one at a time.
class Records {
 public:
  Records(std::string_view text, std::string where) : rest_(text), where_(std::move(where)) {
    constexpr std::string_view mark = "\xEF\xBB\xBF";  // some programs begin UTF-8 files with it
    if (rest_.starts_with(mark)) rest_.remove_prefix(mark.size());
  }

  /// The next record, or false at the end.
  bool next(std::vector<std::string>& cells) {
    cells.clear();
    if (rest_.empty()) return false;
    line_ += lines_read_;
    lines_read_ = 1;
    bool more = true;
    while (more) {
      cells.push_back(rest_.starts_with('"') ? quoted() : plain());
      more = rest_.starts_with(',');
      if (more) rest_.remove_prefix(1);
    }
    if (rest_.starts_with('\r')) rest_.remove_prefix(1);
    require(rest_.empty() || rest_.front() == '\n',
            "{}, line {}: a closing quote must be followed by a comma or the line's end", where_,
            line_);
    if (!rest_.empty()) rest_.remove_prefix(1);
    return true;
  }
  /// Whether nothing but empty lines is left.
  bool at_end() const { return rest_.find_first_not_of("\r\n") == std::string_view::npos; }
  /// Of the record last read.
  Index line() const { return line_; }

 private:
  std::string plain() {
    const std::size_t length = std::min(rest_.find_first_of(",\n"), rest_.size());
    std::string cell(rest_.substr(0, length));
    rest_.remove_prefix(length);
    if (cell.ends_with('\r') && (rest_.empty() || rest_.front() == '\n')) cell.pop_back();
    return cell;
  }
  std::string quoted() {
    std::string cell;
    rest_.remove_prefix(1);
    while (true) {
      const std::size_t quote = rest_.find('"');
      require(quote != std::string_view::npos, "{}, line {}: a quote is never closed", where_,
              line_);
      const std::string_view part = rest_.substr(0, quote);
      lines_read_ += std::count(part.begin(), part.end(), '\n');
      cell += part;
      rest_.remove_prefix(quote + 1);
      if (!rest_.starts_with('"')) return cell;
      cell += '"';
      rest_.remove_prefix(1);
    }
  }

  std::string_view rest_;
  std::string where_;
  Index line_ = 0;
  Index lines_read_ = 1;
};

/// Insertions, deletions and replacements that turn one word into another.
Index edit_distance(const std::string& a, const std::string& b) {
  std::vector<Index> row(b.size() + 1);
  std::iota(row.begin(), row.end(), Index{0});
  for (std::size_t i = 0; i < a.size(); ++i) {
    Index diagonal = row[0]++;
    for (std::size_t j = 0; j < b.size(); ++j) {
      const Index replaced = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({replaced, row[j] + 1, diagonal + 1});
    }
  }
  return row.back();
}

std::string nearest(const std::string& name, std::vector<std::string> known) {
  std::stable_sort(known.begin(), known.end(), [&](const std::string& a, const std::string& b) {
    return edit_distance(name, a) < edit_distance(name, b);
  });
  if (known.size() > 5) known.resize(5);
  return fmt::format("'{}'", fmt::join(known, "', '"));
}

std::size_t find_column(const std::vector<std::string>& header, const std::string& name,
                        const std::string& where) {
  const auto found = std::find(header.begin(), header.end(), name);
  require(found != header.end(), "{} has no column '{}'; the nearest are {}", where, name,
          nearest(name, header));
  require(std::find(found + 1, header.end(), name) == header.end(),
          "{} has more than one column '{}'", where, name);
  return static_cast<std::size_t>(found - header.begin());
}

double parse_number(const std::string& cell, const std::string& where, Index line,
                    const std::string& name) {
  std::string_view text = cell;
  constexpr std::string_view blank = " \t";
  text.remove_prefix(std::min(text.find_first_not_of(blank), text.size()));
  text = text.substr(0, text.find_last_not_of(blank) + 1);
  if (text.starts_with('+')) text.remove_prefix(1);
  double value = 0.0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  require(!text.empty() && error == std::errc() && end == text.data() + text.size(),
          "{}, line {}, column '{}': '{}' is not a number", where, line, name, cell);
  require(std::isfinite(value), "{}, line {}, column '{}': {} is not finite", where, line, name,
          cell);
  return value;
}

}  // namespace

SeriesTable read_series_csv(const std::filesystem::path& path,
                            const std::vector<std::string>& names) {
  require(!names.empty(), "no column was asked for");
  const std::string text = read_text(path);
  const std::string where = fmt::format("'{}'", path.string());
  Records records(text, where);
  std::vector<std::string> header;
  require(records.next(header), "{} is empty: it must begin with a line of column names", where);
  std::vector<std::size_t> places;
  for (const std::string& name : names) {
    require(std::count(names.begin(), names.end(), name) == 1, "column '{}' was asked for twice",
            name);
    places.push_back(find_column(header, name, where));
  }
  std::vector<double> values;
  std::vector<std::string> cells;
  while (!records.at_end() && records.next(cells)) {
    require(cells.size() == header.size(), "{}, line {}: {} cells, must be {} as in the header",
            where, records.line(), cells.size(), header.size());
    for (std::size_t c = 0; c < names.size(); ++c) {
      values.push_back(parse_number(cells[places[c]], where, records.line(), names[c]));
    }
  }
  const auto columns = static_cast<Index>(names.size());
  const Index rows = static_cast<Index>(values.size()) / columns;
  require(rows >= 1, "{} has no rows below its header", where);
  return {names, Eigen::Map<const Eigen::MatrixXd>(values.data(), columns, rows)};
}

std::string csv_cell(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string cell = "\"";
  for (const char c : text) cell += c == '"' ? std::string("\"\"") : std::string(1, c);
  return cell + "\"";
}

}  // namespace waggle
