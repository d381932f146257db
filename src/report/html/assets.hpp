// The style sheet and the scripts of pages, which cmake/embed_html.cmake puts into the library.
#pragma once

#include <string_view>

namespace vramfit::report {

std::string_view page_css();
std::string_view common_js();
std::string_view timeline_js();
std::string_view sweep_js();

}  // namespace vramfit::report
