#include "logs/csv.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cmath>
#include <cstring>
#include <utility>

#include <waggle/detail/text.h>

#include "core/check.h"
#include "core/number_text.h"
#include "files/input_file.h"

namespace waggle {

namespace {

constexpr std::size_t kCsvBuffer = std::size_t{1} << 20;  // at first; a row must fit in it
constexpr std::size_t kRowLimit = std::size_t{1} << 26;

bool is_blank(char c) { return c == ' ' || c == '\t'; }

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && is_blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_blank(text.back())) text.remove_suffix(1);
  return text;
}

/// The separator that comes most often in the header, outside quotes.
char find_separator(std::string_view text) {
  std::array<std::size_t, 256> counts{};
  bool quoted = false;
  for (const char c : text) {
    if (c == '\n' && !quoted) break;
    if (c == '"') quoted = !quoted;
    if (!quoted) ++counts[static_cast<unsigned char>(c)];
  }
  const auto fewer = [&](char a, char b) {
    return counts[static_cast<unsigned char>(a)] < counts[static_cast<unsigned char>(b)];
  };
  return std::max({',', ';', '\t'}, fewer);  // the first of those equally often
}

/// A number whose decimals are behind a comma.
Table::Cell parse_with_comma(std::string_view text, std::size_t comma) {
  std::array<char, 64> copy;  // longer than any number that is written to be read
  if (text.size() > copy.size()) return {Table::Cell::Kind::text, 0.0};
  std::copy(text.begin(), text.end(), copy.begin());
  copy[comma] = '.';
  return parse_number({copy.data(), text.size()});
}

class CsvTable final : public Table {
 public:
  explicit CsvTable(std::shared_ptr<const InputFile> file) : file_(std::move(file)) {
    read_header();
  }

  const std::vector<std::string>& columns() const override { return columns_; }
  void use(const std::vector<std::size_t>&) override { rewind(); }

  void rewind() override {
    start();
    read_row();  // the header
  }

  bool next() override {
    if (!read_row()) return false;
    ++row_;
    if (cells_.size() != columns_.size()) {
      throw Error(fmt::format("{}: {} cells, the header has {} columns", row_name(), cells_.size(),
                              columns_.size()));
    }
    return true;
  }

  Cell cell(std::size_t column) const override {
    const std::string_view found = text(column);
    if (separator_ == ',') return parse_number(found);
    const std::size_t comma = found.find(',');
    const bool has_comma = comma != std::string_view::npos;
    const Cell number = has_comma ? parse_with_comma(found, comma) : parse_number(found);
    if (number.kind != Cell::Kind::number) return number;
    const bool has_point = !has_comma && found.find('.') != std::string_view::npos;
    if (has_comma || has_point) heed_decimals(has_comma ? ',' : '.', column);
    return number;
  }

  std::vector<std::string> notes() const override {
    std::vector<std::string> found;
    if (separator_ != ',' && columns_.size() > 1) {
      found.push_back(fmt::format("columns are separated by {}{}",
                                  separator_ == ';' ? "semicolons" : "tabs",
                                  decimals_ == ',' ? ", decimals by a comma" : ""));
    }
    return found;
  }

  std::string_view text(std::size_t column) const override {
    const Span& span = cells_[column];
    const std::string_view all(span.begin, span.size);
    return span.quoted ? all : trimmed(all);
  }

  std::string row_name() const override {
    if (row_ == 0) return fmt::format("'{}', line {} (the header)", file_->path().string(), line_);
    return fmt::format("'{}', row {} (line {})", file_->path().string(), row_, line_);
  }

 private:
  struct Span {
    char* begin;
    std::size_t size;
    bool quoted;
    bool doubled;  // has quotes written twice
  };

  void start() {
    offset_ = 0;
    begin_ = end_ = buffer_.get();
    at_end_ = false;
    row_ = 0;
    line_ = 0;
    lines_before_ = 0;
    blank_line_ = 0;
    fill();
    const std::string_view head(begin_, static_cast<std::size_t>(end_ - begin_));
    require(!head.starts_with("\x93NUMPY") && !head.starts_with("PK\3\4") &&
                !head.starts_with("\x89HDF"),
            "'{}': the file is no CSV but NumPy's or HDF5", file_->path().string());
    require(!head.starts_with("\xFF\xFE") && !head.starts_with("\xFE\xFF"),
            "'{}': the file is in UTF-16, must be in UTF-8", file_->path().string());
    if (head.starts_with("\xEF\xBB\xBF")) begin_ += 3;
  }

  void read_header() {
    start();
    const std::string path = file_->path().string();
    set_separator(find_separator({begin_, static_cast<std::size_t>(end_ - begin_)}));
    require(read_row(), "'{}': the file is empty", path);
    bool numbers = true;
    for (std::size_t i = 0; i < cells_.size(); ++i) {
      columns_.emplace_back(text(i));
      numbers = numbers && cell(i).kind == Cell::Kind::number;
    }
    require_column_names(columns_, path);
    require(!numbers, "'{}': the first line must be a header of column names, but is numbers",
            path);
    require(columns_.size() > 1 || columns_[0].find('|') == std::string::npos,
            "'{}': the header is the one name {}; columns must be separated by commas, semicolons "
            "or tabs",
            path, shown(columns_[0]));
  }

  void set_separator(char separator) {
    separator_ = separator;
    for (const char c : {separator, '\n', '"'}) stops_[static_cast<unsigned char>(c)] = true;
  }

  /// Decimals are behind a point or behind a comma, in the whole file.
  void heed_decimals(char mark, std::size_t column) const {
    if (decimals_ == '\0') {
      decimals_ = mark;
      first_decimal_ =
          fmt::format("row {}, column {}: {}", row_, shown(columns_[column]), shown(text(column)));
    }
    if (decimals_ == mark) return;
    throw Error(
        fmt::format("{}: {} has its decimals behind a {}, but a number before has them "
                    "behind a {} ({})",
                    cell_name(column), shown(text(column)), mark == ',' ? "comma" : "point",
                    mark == ',' ? "point" : "comma", first_decimal_));
  }

  /// Moves what is left of the buffer to its front and reads on behind it. The byte after the last
  /// is always a line's end, so that scanning needs no other bound.
  void fill() {
    const auto left = static_cast<std::size_t>(end_ - begin_);
    if (left == capacity_) grow();
    if (begin_ != buffer_.get()) std::memmove(buffer_.get(), begin_, left);
    begin_ = buffer_.get();
    const std::size_t wanted = capacity_ - left;
    const std::size_t got = file_->read(offset_, begin_ + left, wanted);
    offset_ += got;
    at_end_ = got < wanted;
    end_ = begin_ + left + got;
    *end_ = '\n';
  }

  void grow() {
    const auto left = static_cast<std::size_t>(end_ - begin_);
    const std::size_t capacity = capacity_ == 0 ? kCsvBuffer : std::min(2 * capacity_, kRowLimit);
    std::unique_ptr<char[]> larger(new char[capacity + 1]);
    if (left > 0) std::memcpy(larger.get(), begin_, left);
    buffer_ = std::move(larger);
    begin_ = buffer_.get();
    capacity_ = capacity;
  }

  /// Splits the next row that is not blank into cells; false at the file's end.
  bool read_row() {
    for (;;) {
      line_ = lines_before_ + 1;
      if (begin_ == end_ && !at_end_) fill();
      if (begin_ == end_) return false;
      while (!split()) {
        if (at_end_) fail(line_, "a quote is opened and never closed");
        if (static_cast<std::size_t>(end_ - begin_) >= kRowLimit) {
          fail(line_, fmt::format("longer than {} MiB (is a quote not closed?)", kRowLimit >> 20));
        }
        fill();
      }
      const bool blank = cells_.size() == 1 && cells_[0].size == 0 && !cells_[0].quoted;
      if (!blank) break;
      if (blank_line_ == 0) blank_line_ = line_;
    }
    if (blank_line_ != 0) fail(blank_line_, "the line is blank, and rows follow");
    for (Span& span : cells_) {
      if (span.doubled) undouble(span);
    }
    return true;
  }

  /// Throws Error about the row that is being split.
  [[noreturn]] void fail(std::int64_t line, std::string_view problem) const {
    const std::string row = columns_.empty() ? "" : fmt::format("row {} (line {})", row_ + 1, line);
    throw Error(fmt::format("'{}', {}: {}", file_->path().string(),
                            row.empty() ? fmt::format("line {}", line) : row, problem));
  }

  /// Splits the row at begin_; false, with nothing changed, if its end is not in the buffer.
  bool split() {
    cells_.clear();
    std::int64_t breaks = 0;
    char* p = begin_;
    for (;;) {
      Span span{p, 0, false, false};
      if (*p == '"') {
        span = {++p, 0, true, false};
        for (;; ++p) {
          while (*p != '"' && *p != '\n') ++p;
          if (p >= end_) return false;
          if (*p == '\n') {
            ++breaks;
          } else if (p + 1 < end_ && p[1] == '"') {
            span.doubled = true;
            ++p;
          } else if (p + 1 == end_ && !at_end_) {
            return false;  // the next byte decides
          } else {
            break;
          }
        }
        span.size = static_cast<std::size_t>(p - span.begin);
        ++p;
        if (*p == '\r' && p + 1 == end_ && !at_end_) return false;
        if (*p == '\r' && p[1] == '\n') ++p;
        if (*p != separator_ && *p != '\n') {
          fail(line_,
               fmt::format("cell {}: something follows its closing quote", cells_.size() + 1));
        }
      } else {
        while (!stops_[static_cast<unsigned char>(*p)]) ++p;
        if (*p == '"') {
          fail(line_, fmt::format("cell {}: a quote in the middle of a cell that is not quoted",
                                  cells_.size() + 1));
        }
        span.size = static_cast<std::size_t>(p - span.begin);
        if (*p == '\n' && span.size > 0 && p[-1] == '\r') --span.size;
      }
      if (p == end_ && !at_end_) return false;
      cells_.push_back(span);
      if (*p++ == '\n') break;
    }
    begin_ = std::min(p, end_);
    lines_before_ += 1 + breaks;
    return true;
  }

  static void undouble(Span& span) {
    char* to = span.begin;
    for (std::size_t i = 0; i < span.size; ++i) {
      *to++ = span.begin[i];
      if (span.begin[i] == '"') ++i;
    }
    span.size = static_cast<std::size_t>(to - span.begin);
  }

  std::shared_ptr<const InputFile> file_;
  std::vector<std::string> columns_;
  char separator_ = ',';
  /// Bytes that may end an unquoted cell, or may not stand in it. All others belong to the cell, so
  /// that scanning it takes one look into this table a byte.
  std::array<bool, 256> stops_{};
  mutable char decimals_ = '\0';  // what they stand behind; not known until one is met
  mutable std::string first_decimal_;
  std::unique_ptr<char[]> buffer_;
  std::size_t capacity_ = 0;  // of the buffer
  char* begin_ = nullptr;     // of what is not read yet
  char* end_ = nullptr;       // of what is in the buffer
  std::uint64_t offset_ = 0;
  bool at_end_ = false;
  std::vector<Span> cells_;
  std::int64_t row_ = 0;   // of the current row; 0 for the header
  std::int64_t line_ = 0;  // on which the current row starts
  std::int64_t lines_before_ = 0;
  std::int64_t blank_line_ = 0;
};

}  // namespace

Table::Cell parse_number(std::string_view text) {
  using Kind = Table::Cell::Kind;
  text = trimmed(text);
  if (text.empty()) return {Kind::empty, 0.0};
  const char* first = text.data();
  const char* const last = first + text.size();
  if (text.size() > 1 && *first == '+' && first[1] != '-') ++first;
  double value = 0.0;
  const auto [end, code] = read_number(first, last, value);
  if (end != last || code == std::errc::invalid_argument) return {Kind::text, 0.0};
  if (code == std::errc::result_out_of_range) return {Kind::out_of_range, 0.0};
  return {std::isfinite(value) ? Kind::number : Kind::not_finite, value};
}

bool is_nothing(const Table::Cell& cell, std::string_view text) {
  using Kind = Table::Cell::Kind;
  if (cell.kind == Kind::empty) return true;
  if (cell.kind == Kind::not_finite) return std::isnan(cell.value);
  if (cell.kind != Kind::text || text.size() > 4) return false;
  std::string word(text);
  for (char& c : word) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return word == "na" || word == "n/a" || word == "null";
}

std::unique_ptr<Table> open_csv(const std::filesystem::path& path) {
  return open_csv(std::make_shared<const InputFile>(path));
}

std::unique_ptr<Table> open_csv(std::shared_ptr<const InputFile> file) {
  return std::make_unique<CsvTable>(std::move(file));
}

std::string csv_cell(std::string_view text) {
  const auto blank = [](char c) { return c == ' ' || c == '\t'; };
  const bool plain = text.find_first_of(",\"\r\n") == std::string_view::npos && !text.empty() &&
                     !blank(text.front()) && !blank(text.back());
  if (plain) return std::string(text);
  std::string cell = "\"";
  for (const char c : text) cell.append(c == '"' ? 2 : 1, c);
  return cell + '"';
}

}  // namespace waggle
