// Trial runs of Triton's kernels: which of several configurations is the fastest.
#pragma once

#include "engine/tensor.hpp"

namespace vramfit::model {

/// torch 2.11 _inductor/codegen/triton.py: a reduction over so many has two configurations.
bool tries_reduction(Size reduced);

/// Once for each configuration the L2 cache is emptied by a tensor of its size; what the kernel overwrites is copied.
void try_kernel(engine::Session& session, const engine::Tensor& overwritten);

}  // namespace vramfit::model
