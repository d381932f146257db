// Files that are part of the program, generated into a source by cmake/embed_spec_data.cmake.
#pragma once

#include <string_view>

namespace vramfit {

/// src/spec/gpus.json
std::string_view embedded_gpus();

}  // namespace vramfit
