# Puts the style sheet and the scripts of src/report/html into the library: a generated source with their texts.
set(html_functions "")
foreach(name IN ITEMS page.css common.js timeline.js sweep.js)
  set(html_file ${PROJECT_SOURCE_DIR}/src/report/html/${name})
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${html_file})
  file(READ "${html_file}" html_text)
  string(REPLACE "." "_" html_function ${name})
  string(APPEND html_functions "std::string_view ${html_function}() {\n    return R\"html(${html_text})html\";\n}\n\n")
endforeach()
set(out ${CMAKE_CURRENT_BINARY_DIR}/generated/html_assets.cpp)
file(CONFIGURE OUTPUT ${out} @ONLY CONTENT [[// The style sheet and the scripts of pages, written by cmake/embed_html.cmake.
#include "report/html/assets.hpp"

namespace vramfit::report {

@html_functions@}  // namespace vramfit::report
]])
target_sources(vramfit PRIVATE ${out})
