#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "chart.h"
#include "document.h"

namespace waggle::app {

/// A CSV file of a result directory, by the name it is listed under, and what is needed of it.
struct FigureFile {
  std::string name;
  std::vector<std::string> columns;
  std::size_t most_rows = 1'000'000;  ///< evenly spaced ones are kept of more
  bool may_be_empty = false;          ///< whether a column may be without a number
};

/// A file that was read: its name among the document's datasets and what is in it.
struct Loaded {
  std::string data;
  const Columns& columns;
};

/// One chart of a figure: the files it needs and how it is drawn from them.
struct ChartPlan {
  std::string title;
  std::vector<FigureFile> files;
  std::function<nlohmann::ordered_json(const std::vector<Loaded>&)> draw;
};

/// Collects one section of the document from a result directory. What cannot be read is named where
/// it would have been shown.
class SectionBuilder {
 public:
  /// `listed`: the array of figures of results.json, which lies in `folder`. Datasets' names begin
  /// with the section's id, which is made unique in the document.
  SectionBuilder(Document& document, const std::string& id, std::filesystem::path folder,
                 const nlohmann::ordered_json& listed);

  Section section;

  /// Whether a figure of this name is listed, be it there or not.
  bool lists(const std::string& name) const;
  /// What is listed of it beside its file; null if it is not listed.
  nlohmann::ordered_json listing(const std::string& name) const;

  /// Adds a figure. A chart whose files cannot be read becomes a note, or, if it was the only one,
  /// the reason why the figure is missing.
  void figure(FigureText text, const std::vector<ChartPlan>& charts);

  /// Adds a dataset that is in no file, or columns to one that is there already; returns its name
  /// in the document.
  std::string dataset(const std::string& name, Columns columns);

  /// Moves the section into the document.
  void finish() { document_.sections.push_back(std::move(section)); }

 private:
  Loaded load(const FigureFile& file, std::vector<std::string>& notes);

  Document& document_;
  std::filesystem::path folder_;
  nlohmann::ordered_json listed_;
};

}  // namespace waggle::app
