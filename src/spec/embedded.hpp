// Files that are part of the program, generated into a source by cmake/embed_spec_data.cmake.
#pragma once

#include <string_view>

namespace vramfit {

/// src/spec/gpus.json
std::string_view embedded_gpus();

/// models/not_supported.txt: lines "MODEL_TYPE text|images|sound ID ID ..." of checkpoints whose family is not
/// supported; "MODEL_TYPE fp8 ..." and "MODEL_TYPE key=KEY ..." of recorded types' checkpoints that cannot be had.
std::string_view embedded_other_models();

}  // namespace vramfit
