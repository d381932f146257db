// The largest or smallest elements of one long row.
#pragma once

#include "engine/ops/index.hpp"

namespace vramfit::engine {

/// torch.topk(t, k) of t -- [N], without a gradient: sorted.
Picked topk_row(const Tensor& t, Size k);

}  // namespace vramfit::engine
