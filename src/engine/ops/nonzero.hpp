// Picking by a mask: torch.nonzero, indexing and scattering.
#pragma once

#include "engine/tensor.hpp"

namespace vramfit::engine {

/// aten::nonzero of a mask of which `count` places are set, as the host reads: [count, dim] int64.
Tensor nonzero(const Tensor& mask, Size count);

/// t[mask]: mask -- the leading dimensions of t; result [count, ...].
Tensor index_by_mask(const Tensor& t, const Tensor& mask, Size count);

/// zeros.masked_scatter(mask, source): source -- [count], the result has the mask's shape.
Tensor masked_scatter(const Tensor& zeros, const Tensor& mask, const Tensor& source);

}  // namespace vramfit::engine
