#pragma once

#include <filesystem>

#include "reading.h"
#include "section_builder.h"

namespace waggle::app {

/// Each adds what one kind of results.json holds to the document. `results` is the file's content,
/// `folder` where it lies. They throw Error if the content is not what its kind says.

/// Of `reproduce` and `compare`: a section for every experiment, one for all learners of a problem.
void add_experiments(Document& document, const nlohmann::ordered_json& results,
                     const std::filesystem::path& folder);
void add_learning(Document& document, const nlohmann::ordered_json& results,
                  const std::filesystem::path& folder);
/// On an environment.
void add_evaluation(Document& document, const nlohmann::ordered_json& results,
                    const std::filesystem::path& folder);
void add_log_evaluation(Document& document, const nlohmann::ordered_json& results,
                        const std::filesystem::path& folder);
void add_forecast(Document& document, const nlohmann::ordered_json& results,
                  const std::filesystem::path& folder);

/// The figures that problems with learners have in common show what a learner earns, or what it
/// costs: the main metric of the results.
struct Reward {
  std::string column;  ///< its name, also in the files; empty: the results have none
  Axis axis;
  bool higher_is_better = true;
};
Reward reward_of(const nlohmann::ordered_json& result);
/// Error and reward against λ.
void add_ridge_path(SectionBuilder& builder, const Reward& reward);
/// The reward of each round of data, and of the optimum.
struct LearningCurve {
  std::string learner;
  std::string file = "learning_curve";  ///< as it is listed
};
void add_learning_curves(SectionBuilder& builder, const Reward& reward,
                         const std::vector<LearningCurve>& curves);

}  // namespace waggle::app
