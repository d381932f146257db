// How much scratch cuBLAS and cublasLt get for each thread.
#pragma once

#include <cstdint>

#include "vramfit/spec/device.hpp"
#include "vramfit/spec/stack.hpp"

namespace vramfit::engine {

/// ATen/cuda/CublasHandlePool.cpp parseChosenWorkspaceSize: 2 * 4096 KiB + 8 * 16 KiB, 32 MiB on capability 9.0, or
/// what CUBLAS_WORKSPACE_CONFIG=:SIZE:COUNT[:SIZE:COUNT] (SIZE in KiB) says. Throws Error (invalid) for another text.
std::int64_t cublas_workspace_bytes(const Stack& stack, const Device& device);

/// ATen/cuda/CUDABlas.cpp _getWorkspaceSize: 1 MiB, or CUBLASLT_WORKSPACE_SIZE in KiB; from 2.11 on no more than what
/// cuBLAS has. Throws Error (invalid) for another text.
std::int64_t cublaslt_workspace_bytes(const Stack& stack, const Device& device);

}  // namespace vramfit::engine
