#include "sections.h"

namespace waggle::app {

void draw_bias(SectionBuilder& builder, const nlohmann::ordered_json& /*result*/) {
  builder.figure({"bias", "Error of the curvature of the value", "",
                  "LSTD's error should fall with the square root of the data, and that of the "
                  "Bellman residual stay "
                  "where it is: the noise of the next state enters its squares and biases it."},
                 {{"",
                   {{"bias", {"steps", "lstd_error", "bellman_residual_error"}}},
                   [](const std::vector<Loaded>& files) {
                     const std::string& data = files[0].data;
                     const nlohmann::ordered_json dots = {{"point", {{"size", 20}}}};
                     return layered(
                         {"steps of data", true, false, "~s"}, {"error (absolute)", true},
                         {{data, "line", "steps", "lstd_error", "LSTD", colour::kMeasured, dots},
                          {data, "line", "steps", "bellman_residual_error", "Bellman residual",
                           colour::kEstimate, dots}});
                   }}});
}

}  // namespace waggle::app
