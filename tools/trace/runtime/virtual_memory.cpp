// The driver's virtual memory calls, which PyTorch looks up by name for expandable segments.
#include <cuda_runtime_api.h>

#include <cstring>
#include <iterator>

#include "export.hpp"
#include "space.hpp"

namespace {

using nodevice::space;

constexpr int kDone = 0;         // CUDA_SUCCESS
constexpr int kOutOfMemory = 2;  // CUDA_ERROR_OUT_OF_MEMORY

int reserve(unsigned long long* at, size_t bytes, size_t, unsigned long long, unsigned long long) {
    void* const found = space().reserve(bytes);
    *at = reinterpret_cast<std::uintptr_t>(found);
    return found ? kDone : kOutOfMemory;
}

int unreserve(unsigned long long at, size_t bytes) {
    space().unreserve(reinterpret_cast<void*>(at), bytes);
    return kDone;
}

int create(unsigned long long* handle, size_t bytes, const void*, unsigned long long) {
    *handle = space().create(bytes);
    return *handle ? kDone : kOutOfMemory;
}

int release(unsigned long long handle) {
    space().release(handle);
    return kDone;
}

int granularity(size_t* out, const void*, int) {
    *out = nodevice::kPage;
    return kDone;
}

int nothing() { return kDone; }

struct Entry {
    const char* name;
    void* function;
};

const Entry kEntries[] = {
    {"cuMemAddressReserve", reinterpret_cast<void*>(reserve)},
    {"cuMemAddressFree", reinterpret_cast<void*>(unreserve)},
    {"cuMemCreate", reinterpret_cast<void*>(create)},
    {"cuMemRelease", reinterpret_cast<void*>(release)},
    {"cuMemGetAllocationGranularity", reinterpret_cast<void*>(granularity)},
};

cudaError_t look_up(const char* name, void** function, int* result) {
    *function = reinterpret_cast<void*>(nothing);
    for (const Entry& entry : kEntries) {
        if (std::strcmp(entry.name, name) == 0) *function = entry.function;
    }
    if (result) *result = 0;  // cudaDriverEntryPointSuccess
    return cudaSuccess;
}

}  // namespace

ENTRY_NAMED("cudaGetDriverEntryPoint", cudaError_t, entry_point,
            (const char* name, void** function, unsigned long long, int* result)) {
    return look_up(name, function, result);
}
ENTRY_NAMED("cudaGetDriverEntryPointByVersion", cudaError_t, entry_point_by_version,
            (const char* name, void** function, unsigned, unsigned long long, int* result)) {
    return look_up(name, function, result);
}
