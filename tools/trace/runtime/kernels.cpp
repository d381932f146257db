// Kernels: they can be looked up, asked about and launched, and nothing happens.
#include <cuda_runtime_api.h>

#include <cstdlib>
#include <cstring>
#include <vector>

#include "card.hpp"
#include "clocks.hpp"
#include "export.hpp"

namespace {

/// What <<<...>>> says and the stub of the kernel asks for right after.
struct Launch {
    dim3 grid, block;
    size_t shared_memory;
    void* stream;
};

thread_local std::vector<Launch> pushed;

constexpr int kBlocksThatFit = 2;  // occupancy is not computed

}  // namespace

ENTRY unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared_memory, void* stream) {
    pushed.push_back({grid, block, shared_memory, stream});
    return 0;
}

ENTRY cudaError_t __cudaPopCallConfiguration(dim3* grid, dim3* block, size_t* shared_memory, void* stream) {
    if (pushed.empty()) return cudaSuccess;
    const Launch& last = pushed.back();
    *grid = last.grid;
    *block = last.block;
    *shared_memory = last.shared_memory;
    *static_cast<void**>(stream) = last.stream;
    pushed.pop_back();
    return cudaSuccess;
}

ENTRY cudaError_t cudaLaunchKernel(const void*, dim3, dim3, void**, size_t, cudaStream_t stream) {
    nodevice::clocks().work(stream);
    return cudaSuccess;
}

// What <<<...>>> calls since CUDA 13.
ENTRY cudaError_t __cudaLaunchKernel(cudaKernel_t, dim3, dim3, void**, size_t, cudaStream_t stream) {
    nodevice::clocks().work(stream);
    return cudaSuccess;
}

ENTRY cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t* launch, const void*, void**) {
    nodevice::clocks().work(launch->stream);
    return cudaSuccess;
}

ENTRY void** __cudaRegisterFatBinary(void*) {
    static void* handle[4];
    return handle;
}

ENTRY char __cudaInitModule(void**) { return 1; }

ENTRY cudaError_t __cudaGetKernel(void** out, const void* function) {
    *out = const_cast<void*>(function);
    return cudaSuccess;
}

ENTRY cudaError_t cudaFuncGetAttributes(cudaFuncAttributes* out, const void*) {
    const nodevice::Card& card = nodevice::card();
    std::memset(out, 0, sizeof *out);
    out->maxThreadsPerBlock = 1024;
    out->numRegs = 32;
    out->maxDynamicSharedSizeBytes = static_cast<int>(card.shared_memory_of_block());
    out->ptxVersion = out->binaryVersion = card.code_version();
    return cudaSuccess;
}

ENTRY cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int* out, const void*, int, size_t) {
    *out = kBlocksThatFit;
    return cudaSuccess;
}

ENTRY cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int* out, const void*, int, size_t, unsigned) {
    *out = kBlocksThatFit;
    return cudaSuccess;
}

// Triton's kernels: modules of the driver.
ENTRY int cuLaunchKernelEx(const void*, void*, void**, void**) { return 0; }
ENTRY int cuModuleLoadData(void** out, const void*) { return (*out = std::calloc(1, 64)) ? 0 : 2; }
ENTRY int cuModuleGetFunction(void** out, void*, const char*) { return (*out = std::calloc(1, 64)) ? 0 : 2; }

ENTRY int cuFuncGetAttribute(int* out, int which, void*) {
    constexpr int kMaxThreads = 0, kRegisters = 4;  // of CUfunction_attribute; the rest are sizes in bytes
    *out = which == kMaxThreads ? 1024 : which == kRegisters ? 32 : 0;
    return 0;
}

ENTRY int cuPointerGetAttribute(void* out, int, unsigned long long pointer) {
    std::memcpy(out, &pointer, sizeof pointer);
    return 0;
}

ENTRY int cuOccupancyMaxActiveClusters(int* out, void*, const void*) {
    *out = 8;
    return 0;
}
