#include "chart.h"

namespace waggle::app {

using nlohmann::ordered_json;

namespace {

ordered_json channel(const std::string& field, const Axis& axis) {
  ordered_json scale = {{"zero", axis.zero}, {"nice", !axis.log}};
  if (axis.log) scale = {{"type", "log"}, {"nice", false}};
  ordered_json lines = {{"title", axis.title}};
  if (!axis.format.empty()) lines["format"] = axis.format;
  if (axis.log) lines["gridOpacity"] = 0.5;  // there are many
  return {{"field", field}, {"type", "quantitative"}, {"scale", scale}, {"axis", lines}};
}

}  // namespace

ordered_json layered(const Axis& x, const Axis& y, const std::vector<Layer>& layers, int height) {
  ordered_json labels = ordered_json::array(), colours = ordered_json::array();
  for (const Layer& layer : layers) {
    if (layer.label.empty()) continue;
    labels.push_back(layer.label);
    colours.push_back(layer.colour);
  }
  ordered_json spec = {{"width", "container"}, {"height", height}};
  spec["layer"] = ordered_json::array();
  for (const Layer& layer : layers) {
    ordered_json mark = {{"type", layer.mark}};
    if (layer.mark_options.is_object()) mark.update(layer.mark_options);
    ordered_json encoding = ordered_json::object();
    if (!layer.x.empty()) encoding["x"] = channel(layer.x, x);
    if (!layer.y.empty()) encoding["y"] = channel(layer.y, y);
    if (layer.label.empty()) {
      mark["color"] = layer.colour;
    } else {
      encoding["color"] = {{"datum", layer.label},
                           {"type", "nominal"},
                           {"scale", {{"domain", labels}, {"range", colours}}}};
    }
    if (layer.channels.is_object()) encoding.update(layer.channels);
    ordered_json one = {{"data", {{"name", layer.data}}}, {"mark", mark}, {"encoding", encoding}};
    if (layer.transform.is_array()) one["transform"] = layer.transform;
    spec["layer"].push_back(std::move(one));
  }
  return spec;
}

}  // namespace waggle::app
