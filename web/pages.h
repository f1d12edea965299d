#pragma once

#include <string_view>

namespace waggle::app {

/// The pages built into the program, as HTML with everything inside. Where one could not be built,
/// its function throws Error with what was missing and what to do.
std::string_view report_page();
std::string_view playground_page();

}  // namespace waggle::app
