// Into how many parts the fused cross entropy cuts the tokens.
#pragma once

#include <array>
#include <vector>

#include "model/network/run.hpp"

namespace vramfit::model {

/// The tokens of each part.
std::vector<Size> loss_parts(const Run& run, Size tokens);

/// How the loss of so many tokens is cut where it may take `loss_bytes`; runs that cut it alike are alike.
std::array<std::int64_t, 3> loss_cut(const ModelSpec& spec, const TrainPlan& plan, const Stack& stack,
                                     const Device& device, std::int64_t tokens, std::int64_t loss_bytes);

/// Into how many it is cut where it may take `loss_bytes`, of so many tokens.
std::int64_t loss_part_count(const ModelSpec& spec, const TrainPlan& plan, std::int64_t tokens,
                             std::int64_t loss_bytes);

}  // namespace vramfit::model
