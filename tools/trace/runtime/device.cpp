// The runtime's questions about the card and its driver.
#include <cuda_runtime_api.h>

#include <cstdio>
#include <cstring>

#include "card.hpp"
#include "export.hpp"

namespace {

constexpr int kRegisters = 1 << 16;
constexpr int kSharedMemoryOfBlock = 48 << 10;  // without asking for more
constexpr int kSharedMemoryOfSystem = 1 << 10;

cudaError_t describe(cudaDeviceProp* out) {
    const nodevice::Card& card = nodevice::card();
    std::memset(out, 0, sizeof *out);
    std::snprintf(out->name, sizeof out->name, "%s", card.name.c_str());
    out->major = card.major;
    out->minor = card.minor;
    out->multiProcessorCount = card.multiprocessors;
    out->totalGlobalMem = card.total;
    out->totalConstMem = 64 << 10;
    out->sharedMemPerBlock = kSharedMemoryOfBlock;
    out->sharedMemPerBlockOptin = card.shared_memory_of_block();
    out->sharedMemPerMultiprocessor = card.shared_memory();
    out->reservedSharedMemPerBlock = kSharedMemoryOfSystem;
    out->regsPerBlock = out->regsPerMultiprocessor = kRegisters;
    out->l2CacheSize = static_cast<int>(card.l2);
    out->memoryBusWidth = 5120;
    out->memPitch = 0x7fffffff;
    out->textureAlignment = 512;
    out->texturePitchAlignment = 32;
    out->warpSize = 32;
    out->maxThreadsPerBlock = 1024;
    out->maxThreadsPerMultiProcessor = card.threads_of_multiprocessor();
    out->maxBlocksPerMultiProcessor = card.blocks_of_multiprocessor();
    out->maxThreadsDim[0] = out->maxThreadsDim[1] = 1024;
    out->maxThreadsDim[2] = 64;
    out->maxGridSize[0] = 0x7fffffff;
    out->maxGridSize[1] = out->maxGridSize[2] = 0xffff;
    out->asyncEngineCount = 3;
    out->pciBusID = 1;
    out->unifiedAddressing = out->managedMemory = out->concurrentManagedAccess = out->canMapHostMemory = 1;
    out->concurrentKernels = out->cooperativeLaunch = out->memoryPoolsSupported = out->streamPrioritiesSupported = 1;
    return cudaSuccess;
}

int attribute(cudaDeviceAttr which) {
    const nodevice::Card& card = nodevice::card();
    switch (which) {
        case cudaDevAttrComputeCapabilityMajor: return card.major;
        case cudaDevAttrComputeCapabilityMinor: return card.minor;
        case cudaDevAttrMultiProcessorCount: return card.multiprocessors;
        case cudaDevAttrMaxThreadsPerBlock:
        case cudaDevAttrMaxBlockDimX:
        case cudaDevAttrMaxBlockDimY: return 1024;
        case cudaDevAttrMaxBlockDimZ: return 64;
        case cudaDevAttrMaxGridDimX: return 0x7fffffff;
        case cudaDevAttrMaxGridDimY:
        case cudaDevAttrMaxGridDimZ: return 0xffff;
        case cudaDevAttrMaxThreadsPerMultiProcessor: return card.threads_of_multiprocessor();
        case cudaDevAttrMaxBlocksPerMultiprocessor: return card.blocks_of_multiprocessor();
        case cudaDevAttrMaxSharedMemoryPerBlock: return kSharedMemoryOfBlock;
        case cudaDevAttrMaxSharedMemoryPerBlockOptin: return static_cast<int>(card.shared_memory_of_block());
        case cudaDevAttrMaxSharedMemoryPerMultiprocessor: return static_cast<int>(card.shared_memory());
        case cudaDevAttrReservedSharedMemoryPerBlock: return kSharedMemoryOfSystem;
        case cudaDevAttrMaxRegistersPerBlock:
        case cudaDevAttrMaxRegistersPerMultiprocessor: return kRegisters;
        case cudaDevAttrL2CacheSize: return static_cast<int>(card.l2);
        case cudaDevAttrWarpSize: return 32;
        case cudaDevAttrUnifiedAddressing:
        case cudaDevAttrManagedMemory:
        case cudaDevAttrConcurrentManagedAccess:
        case cudaDevAttrCooperativeLaunch:
        case cudaDevAttrConcurrentKernels:
        case cudaDevAttrMemoryPoolsSupported: return 1;
        default: return 0;
    }
}

cudaError_t set(int* out, int value) {
    *out = value;
    return cudaSuccess;
}

}  // namespace

// CUDA 13 has the properties under their plain name, CUDA 12 under that of their second version.
ENTRY_NAMED("cudaGetDeviceProperties", cudaError_t, properties_13, (cudaDeviceProp * out, int)) {
    return describe(out);
}
ENTRY_NAMED("cudaGetDeviceProperties_v2", cudaError_t, properties_12, (cudaDeviceProp * out, int)) {
    return describe(out);
}

ENTRY cudaError_t cudaDeviceGetAttribute(int* out, cudaDeviceAttr which, int) { return set(out, attribute(which)); }
ENTRY cudaError_t cudaGetDeviceCount(int* out) { return set(out, 1); }
ENTRY cudaError_t cudaGetDevice(int* out) { return set(out, 0); }
ENTRY cudaError_t cudaDriverGetVersion(int* out) { return set(out, CUDART_VERSION); }
ENTRY cudaError_t cudaRuntimeGetVersion(int* out) { return set(out, CUDART_VERSION); }
ENTRY cudaError_t cudaDeviceCanAccessPeer(int* out, int, int) { return set(out, 0); }

ENTRY cudaError_t cudaDeviceGetStreamPriorityRange(int* least, int* greatest) {
    set(greatest, -5);
    return set(least, 0);
}

ENTRY cudaError_t cudaDeviceGetPCIBusId(char* out, int size, int) {
    std::snprintf(out, static_cast<size_t>(size), "0000:01:00.0");
    return cudaSuccess;
}

ENTRY const char* cudaGetErrorName(cudaError_t error) {
    return error == cudaErrorMemoryAllocation ? "cudaErrorMemoryAllocation" : "cudaErrorWithoutDevice";
}

ENTRY const char* cudaGetErrorString(cudaError_t error) {
    return error == cudaErrorMemoryAllocation ? "out of memory" : "an error of the CUDA runtime without a device";
}

// Triton asks the driver; the numbers of its attributes are the runtime's.
ENTRY int cuDeviceGet(int* out, int) { return set(out, 0); }
// torch 2.15 registers Triton's kernels where there is a device (torch/_native/triton_utils.py _try_initialize_driver).
ENTRY int cuInit(unsigned) { return 0; }
ENTRY int cuDeviceGetCount(int* out) { return set(out, 1); }
ENTRY int cuDriverGetVersion(int* out) { return set(out, CUDART_VERSION); }

ENTRY int cuDeviceGetAttribute(int* out, int which, int) {
    if (which == cudaDevAttrClockRate || which == cudaDevAttrMemoryClockRate) return set(out, 1500000);
    if (which == cudaDevAttrGlobalMemoryBusWidth) return set(out, 5120);
    return set(out, attribute(static_cast<cudaDeviceAttr>(which)));
}

ENTRY int cuGetErrorString(int, const char** out) {
    *out = "an error of the CUDA driver without a device";
    return 0;
}
