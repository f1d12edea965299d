#pragma once

#include <string>
#include <vector>

#include <nlohmann/json.hpp>

namespace waggle::app {

/// Colours by what they mean, the same in every figure. The page puts in the colours of its theme,
/// light or dark; both are told apart by the colour-blind.
namespace colour {
inline constexpr const char* kMeasured = "$blue";  ///< what happened
inline constexpr const char* kEstimate = "$red";   ///< what was learnt, or what it is held against
inline constexpr const char* kExact = "$ink";      ///< exact solutions
inline constexpr const char* kPaper = "$purple";   ///< what the paper prints
inline constexpr const char* kOther = "$green";    ///< a third of its kind
inline constexpr const char* kFourth = "$orange";  ///< and a fourth
}  // namespace colour

struct Axis {
  std::string title;  ///< with its unit in brackets, if it has one
  bool log = false;
  bool zero = false;        ///< whether 0 must be on it
  std::string format = {};  ///< of its numbers, as d3 writes it; empty: by itself
};

/// One mark for every row of a dataset.
struct Layer {
  std::string data;
  std::string mark;  ///< of Vega-Lite: line, point, rule, area, bar, rect, circle
  std::string x;     ///< columns; empty for a rule across the chart
  std::string y;
  std::string label = {};  ///< in the legend; empty: not in it
  std::string colour = colour::kMeasured;
  nlohmann::ordered_json mark_options = {};  ///< such as {"strokeDash": [6, 4]}
  nlohmann::ordered_json channels = {};      ///< further ones, such as x2
  nlohmann::ordered_json transform = {};     ///< of the rows, as an array
};

inline const nlohmann::ordered_json kDashed = {{"strokeDash", {6, 4}}};

/// The layers over each other, on shared axes and with one legend.
nlohmann::ordered_json layered(const Axis& x, const Axis& y, const std::vector<Layer>& layers,
                               int height = 280);

}  // namespace waggle::app
