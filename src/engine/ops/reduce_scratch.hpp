// The scratch of ATen/native/cuda/Reduce.cuh: when a reduction is split over blocks, and how much it then takes.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/dims.hpp"
#include "engine/ops/reduce.hpp"
#include "vramfit/spec/device.hpp"

namespace vramfit::engine {

/// Bytes of the buffer for partial results and of the semaphores of one kernel; both 0 without a global reduction.
struct ReduceScratch {
    Size buffer = 0;
    Size semaphores = 0;
};

/// What one reduction takes beside its result.
struct ReducePlan {
    Size accumulation = 0;             ///< results in the accumulation type while parts of the input are added up
    std::vector<ReduceScratch> parts;  ///< one kernel each: more than one where the input is beyond 32-bit offsets
};

/// Element sizes of a reduction.
struct ReduceTypes {
    int input = 4;
    int output = 4;
    int accumulate = 4;
    int vector = 4;  ///< elements that a thread loads at once
};

/// maxThreadsPerMultiProcessor of a card's properties.
int max_threads_per_multiprocessor(const Capability& c);

/// For a reduction over `dims` of a tensor of this layout. Source: torch 2.2 and 2.11 ATen/native/cuda/Reduce.cuh
/// gpu_reduce_kernel, setReduceConfig, ReduceConfig.
ReducePlan plan_reduction(const Layout& input, DimMask dims, const ReduceTypes& types, const Device& device);

}  // namespace vramfit::engine
