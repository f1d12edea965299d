#pragma once

#include <string_view>

namespace waggle::app {

/// The pages built into the program, as HTML with everything inside; empty if it was built without
/// them (CMake's WAGGLE_BUILD_WEB).
std::string_view report_page();
std::string_view playground_page();

}  // namespace waggle::app
