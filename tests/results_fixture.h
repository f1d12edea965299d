#pragma once

#include <cmath>
#include <filesystem>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "cli_fixture.h"

namespace waggle {

namespace fs = std::filesystem;
using nlohmann::ordered_json;

/// A figure's file: its columns by name; an empty cell is NaN.
struct Csv {
  std::vector<std::string> names;
  std::map<std::string, std::vector<double>> columns;

  const std::vector<double>& at(const std::string& name) const { return columns.at(name); }
};

inline Csv read_csv(const fs::path& path) {
  Csv csv;
  std::istringstream text(read(path));
  std::string line, cell;
  std::getline(text, line);
  for (std::istringstream cells(line); std::getline(cells, cell, ',');) csv.names.push_back(cell);
  while (std::getline(text, line)) {
    std::istringstream cells(line + ",");
    for (const std::string& name : csv.names) {
      EXPECT_TRUE(std::getline(cells, cell, ',')) << path << ": " << line;
      csv.columns[name].push_back(cell.empty() ? std::nan("") : std::stod(cell));
    }
  }
  return csv;
}

using Names = std::vector<std::string>;

class ResultsCli : public Cli {
 protected:
  ordered_json results(const std::string& name) const {
    return ordered_json::parse(read(directory_ / name / "results.json"));
  }
  void done(const std::string& arguments) const {
    const Outcome outcome = run(arguments);
    EXPECT_EQ(outcome.code, 0) << arguments << "\n" << outcome.err;
  }
  /// Expects this list of figures, each in its file with these columns, or missing for a reason.
  void expect_figures(const std::string& name, const ordered_json& figures,
                      const std::map<std::string, Names>& columns) const {
    ASSERT_EQ(figures.size(), columns.size()) << figures;
    for (const ordered_json& figure : figures) {
      const std::string which = figure["name"];
      ASSERT_TRUE(columns.contains(which)) << which;
      EXPECT_EQ(read_csv(directory_ / name / figure["file"].get<std::string>()).names,
                columns.at(which));
    }
  }
  /// Expects the results' own command to give the same directory again.
  void expect_repeated(const std::string& name, const std::string& option) const {
    const std::string command = results(name)["command"];
    const std::string program = fs::path(WAGGLE_COMMAND).filename().string() + " ";
    ASSERT_EQ(command.rfind(program, 0), 0u) << command;
    for (const char* left_out : {"--results", "--json", "--threads"}) {
      EXPECT_EQ(command.find(left_out), std::string::npos) << command;
    }
    done(command.substr(program.size()) + " " + option + " " + path("again"));
    for (const auto& entry : fs::recursive_directory_iterator(directory_ / name)) {
      if (!entry.is_regular_file()) continue;
      const fs::path same = directory_ / "again" / fs::relative(entry, directory_ / name);
      EXPECT_EQ(read(entry), read(same)) << same;
    }
  }
};

}  // namespace waggle
