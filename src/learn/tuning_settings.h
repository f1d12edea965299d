#pragma once

#include <map>
#include <string>
#include <vector>

#include <waggle/model.h>
#include <waggle/spaces.h>

namespace waggle {

/// One number that is searched, over a few values in ascending order.
struct Dial {
  std::string name;            ///< as describe.h has it
  std::vector<double> values;  ///< 0 of the ridge: chosen by cross-validation
  double (*get)(const FitOptions&);
  void (*set)(FitOptions&, double);
};

/// The dials of a kind of value that are not fixed and that this action space has.
std::vector<Dial> dials_of(const FitOptions& options, const ActionSpace& space,
                           const std::vector<std::string>& fixed);

/// Settings that differ from the given ones: numbers by the dial's name.
using Changes = std::map<std::string, double>;

/// The options with these changes made.
FitOptions changed(FitOptions options, const std::vector<Dial>& dials, const Changes& changes);

/// What to try first, in this order.
std::vector<Changes> first_changes(const FitOptions& options, const std::vector<Dial>& dials);

/// All that is one step of one dial away.
std::vector<Changes> neighbours(const FitOptions& options, const std::vector<Dial>& dials,
                                const Changes& changes);

/// As flags of the command: "--operator-norm 0.5".
std::string flags_of(const Changes& changes);

}  // namespace waggle
