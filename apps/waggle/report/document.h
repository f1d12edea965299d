#pragma once

#include <map>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

namespace waggle::app {

/// Named columns of equal length; NaN where there is no number.
struct Columns {
  std::vector<std::string> names;
  std::vector<std::vector<double>> values;  ///< values[c] is the column of names[c]

  const std::vector<double>& at(const std::string& name) const;
  std::size_t rows() const { return values.empty() ? 0 : values.front().size(); }
};

/// One picture: a Vega-Lite specification whose layers name datasets of the document.
struct Chart {
  std::string title;  ///< may be empty if it is the figure's only one
  nlohmann::ordered_json spec;
};

struct FigureText {
  std::string id;       ///< in links and in the names of saved files
  std::string title;    ///< what is drawn
  std::string paper;    ///< its counterpart there: "figure 1 (a)"; empty: none
  std::string caption;  ///< what to see
};

struct ReportFigure {
  FigureText text;
  std::vector<Chart> charts;
  std::vector<std::string> notes;  ///< such as: three values are not numbers
  std::string missing;             ///< why there are no charts
};

struct ReportTable {
  std::string caption;
  std::vector<std::string> columns;  ///< the first holds words, the others numbers
  std::vector<std::vector<std::string>> rows;

  /// Takes out the columns that are empty in every row.
  void drop_empty_columns();
};

// NOLINTNEXTLINE(bugprone-exception-escape): moving JSON does not throw, clang-tidy cannot see it
struct Section {
  std::string id;
  std::string title;
  std::string text;
  std::string command;             ///< that repeats it
  std::string version;             ///< of the program that ran it
  std::string folder;              ///< where its results are, below the directory of the report
  std::vector<std::string> notes;  ///< warnings
  std::vector<ReportTable> tables;
  std::vector<ReportFigure> figures;
  std::map<std::string, Columns>
      datasets;                    ///< that its charts name, by names beginning with its id
  nlohmann::ordered_json options;  ///< that made it
};

/// What the report's page shows: it lays out, this says what.
struct Document {
  std::string title;
  std::vector<Section> sections;
  std::vector<std::string> problems;  ///< files that could not be read
};

/// The form in which the page reads it: web/report/document.ts has the same types.
nlohmann::ordered_json to_json(const Document& document);

}  // namespace waggle::app
