// Pinned host memory: taken, registered, recognized.
#include "pinned.hpp"

#include <cuda_runtime_api.h>

#include <cstdint>
#include <cstdlib>
#include <map>
#include <mutex>

#include "export.hpp"

namespace nodevice {

namespace {

/// Begin and size of every block.
struct Pinned {
    std::mutex lock;
    std::map<std::uintptr_t, std::size_t> blocks;
};

Pinned& pinned() {
    static auto* const all = new Pinned;
    return *all;
}

std::uintptr_t place(const void* at) { return reinterpret_cast<std::uintptr_t>(at); }

void pin(void* at, std::size_t bytes) {
    const std::lock_guard guard(pinned().lock);
    pinned().blocks[place(at)] = bytes;
}

void unpin(void* at) {
    const std::lock_guard guard(pinned().lock);
    pinned().blocks.erase(place(at));
}

}  // namespace

bool is_pinned(const void* at) {
    const std::lock_guard guard(pinned().lock);
    auto block = pinned().blocks.upper_bound(place(at));
    return block != pinned().blocks.begin() && (--block, place(at) < block->first + block->second);
}

}  // namespace nodevice

ENTRY cudaError_t cudaHostAlloc(void** at, size_t bytes, unsigned) {
    const std::size_t size = bytes ? bytes : 1;
    if (posix_memalign(at, 4096, size)) return cudaErrorMemoryAllocation;
    nodevice::pin(*at, size);
    return cudaSuccess;
}

ENTRY cudaError_t cudaFreeHost(void* at) {
    nodevice::unpin(at);
    std::free(at);
    return cudaSuccess;
}

ENTRY cudaError_t cudaHostRegister(void* at, size_t bytes, unsigned) {
    nodevice::pin(at, bytes);
    return cudaSuccess;
}

ENTRY cudaError_t cudaHostUnregister(void* at) {
    nodevice::unpin(at);
    return cudaSuccess;
}
