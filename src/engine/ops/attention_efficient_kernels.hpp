// Which CUTLASS kernel the backward pass of memory-efficient attention takes, and its workspace.
#pragma once

#include <cstdint>

#include "symbolic/size.hpp"
#include "vramfit/base/dtype.hpp"
#include "vramfit/spec/device.hpp"

namespace vramfit::engine {

/// One instantiation of AttentionBackwardKernel (torch 2.11 mem_eff_attention/kernel_backward.h).
struct EfficientBackwardKernel {
    int block_i = 64;             ///< queries in a tile
    int block_j = 64;             ///< keys in a tile
    std::int64_t max_head = 32;   ///< kMaxK: the largest head size
    bool computes_delta = false;  ///< kKernelComputesDelta
    bool accumulates_q = false;   ///< kNeedsAccumGradQ
    bool accumulates_kv = false;  ///< kNeedsAccumGradK and kNeedsAccumGradV
    bool splits_keys = false;     ///< kEnableSplitKeys
    bool keeps_all_keys = false;  ///< older releases: each split accumulates gradients of all keys, not of one tile
};

/// The first instantiation of kernels/cutlassB.h that takes the head size and fits into the card's shared memory.
EfficientBackwardKernel efficient_backward_kernel(Capability capability, DType dtype, std::int64_t head, bool dropout);

/// Shape of one call: batch, heads, queries, keys, head size, that of the values.
struct EfficientShape {
    Size batch = 0;
    Size heads = 0;
    Size queries = 0;
    Size keys = 0;
    Size head = 0;
    Size value_head = 0;
};

/// Params::workspace_size after the choice of num_splits_key, in bytes.
Size efficient_backward_workspace(const EfficientBackwardKernel& kernel, const EfficientShape& shape);

}  // namespace vramfit::engine
