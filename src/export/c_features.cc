#include "export/c_features.h"

#include <fmt/format.h>

namespace waggle {

namespace {

constexpr const char* kOfNetwork =
    "  for (int i = 0; i < UNITS; ++i) EACH, i, @_after(s, i, action));\n";
/// AFTER is the size of all after-states, LEAD writes that of the last fit.
constexpr const char* kOfPredictive = R"(  const @_head *h = @_heads + HEADS - 1;
  const @_real *row = h->value;
  const int at = AFTER - h->after_size;
  @_real after[LARGEST];
  int feature = 0;
LEAD  EACH, feature++, 1);
  for (int i = 0; i < h->after_size; ++i) EACH, feature++, after[i]);
  for (int i = 0; i < h->value_size; ++i, row += 1 + h->after_size) {
    const @_real v = row[0] + @_dot(row + 1, after, h->after_size);
    EACH, feature++, v <= 0 ? 0 : v);
  }
  for (int j = 0; j < h->squared; ++j) {
    for (int i = 0; i <= j; ++i) EACH, feature++, after[i] * after[j]);
  }
)";
constexpr const char* kLeadContinuous = "  @_lead(s, h, at, action, -1, after);\n";
constexpr const char* kLeadDiscrete = R"(  for (int i = 0; i < h->after_size; ++i) {
    after[i] = s->after[0][at + i] + s->after[1 + action][at + i];
  }
)";

}  // namespace

std::string action_parameter(const CPlan& plan) {
  return plan.discrete ? "int action" : "const @_real *action";
}

std::string each_feature(const CPlan& plan, const std::string& each) {
  if (plan.predictive == nullptr) return replaced(kOfNetwork, "EACH", each);
  std::string code = replaced(kOfPredictive, "EACH", each);
  code = replaced(std::move(code), "AFTER", fmt::format("{}", plan.after()));
  return replaced(std::move(code), "LEAD", plan.discrete ? kLeadDiscrete : kLeadContinuous);
}

const char* square_root(const CPlan& plan) { return plan.real_size() == 8 ? "sqrt" : "sqrtf"; }

}  // namespace waggle
