// Into how many parts the fused cross entropy cuts the tokens.
#pragma once

#include <vector>

#include "model/network/run.hpp"

namespace vramfit::model {

/// The tokens of each part.
std::vector<Size> loss_parts(const Run& run, Size tokens);

}  // namespace vramfit::model
