#include "pages.h"

namespace waggle::app {

std::string_view report_page() { return {}; }
std::string_view playground_page() { return {}; }

}  // namespace waggle::app
