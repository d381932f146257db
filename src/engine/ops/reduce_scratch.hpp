// The scratch of ATen/native/cuda/Reduce.cuh: when a reduction is split over blocks, and how much it then takes.
#pragma once

#include <cstdint>

#include "engine/dims.hpp"
#include "engine/ops/reduce.hpp"
#include "vramfit/spec/device.hpp"

namespace vramfit::engine {

/// Bytes of the buffer for partial results and of the semaphores; both 0 without a global reduction.
struct ReduceScratch {
    std::int64_t buffer = 0;
    std::int64_t semaphores = 0;
};

/// For a reduction over `dims` of a tensor of this layout. `element_size` is the input's, accumulation is in
/// `accumulate_size` bytes. Source: torch 2.11 Reduce.cuh setReduceConfig, ReduceConfig.
ReduceScratch reduce_scratch(const Layout& input, DimMask dims, int element_size, int accumulate_size, int input_vec_size,
                             const Device& device);

}  // namespace vramfit::engine
