// The runtime's memory calls: allocation, copies, fills, what a pointer is.
#include <cuda_runtime_api.h>

#include <cstring>

#include "answers.hpp"
#include "card.hpp"
#include "clocks.hpp"
#include "export.hpp"
#include "pinned.hpp"
#include "space.hpp"

namespace {

using nodevice::space;
using nodevice::Space;

cudaError_t take(void** at, std::size_t bytes, Space::Kind kind) {
    *at = space().take(bytes, kind);
    return *at || bytes == 0 ? cudaSuccess : cudaErrorMemoryAllocation;
}

// Contents exist on the host only: what comes from the device is an answer, what goes there is dropped.
cudaError_t copy(void* to, const void* from, std::size_t bytes) {
    if (nodevice::carries(bytes)) {
        std::memmove(to, from, bytes);
        return cudaSuccess;
    }
    if (space().kind_of(to) != Space::Kind::host) return cudaSuccess;
    if (space().kind_of(from) != Space::Kind::host)
        nodevice::answer(to, bytes);
    else
        std::memmove(to, from, bytes);
    return cudaSuccess;
}

cudaError_t fill(void* at, int value, std::size_t bytes) {
    if (space().kind_of(at) == Space::Kind::host) std::memset(at, value, bytes);
    return cudaSuccess;
}

}  // namespace

ENTRY cudaError_t cudaMalloc(void** at, size_t bytes) { return take(at, bytes, Space::Kind::device); }
ENTRY cudaError_t cudaMallocAsync(void** at, size_t bytes, cudaStream_t) {
    return take(at, bytes, Space::Kind::device);
}
ENTRY cudaError_t cudaMallocManaged(void** at, size_t bytes, unsigned) { return take(at, bytes, Space::Kind::managed); }

ENTRY cudaError_t cudaFree(void* at) {
    nodevice::clocks().synchronize();
    space().give(at);
    return cudaSuccess;
}

ENTRY cudaError_t cudaFreeAsync(void* at, cudaStream_t) { return cudaFree(at); }

ENTRY cudaError_t cudaMemGetInfo(size_t* free, size_t* total) {
    *free = nodevice::card().free - space().taken();
    *total = nodevice::card().total;
    return cudaSuccess;
}

ENTRY cudaError_t cudaMemcpy(void* to, const void* from, size_t bytes, cudaMemcpyKind) { return copy(to, from, bytes); }

ENTRY cudaError_t cudaMemcpyAsync(void* to, const void* from, size_t bytes, cudaMemcpyKind, cudaStream_t stream) {
    nodevice::clocks().work(stream);
    return copy(to, from, bytes);
}

ENTRY cudaError_t cudaMemcpyPeerAsync(void* to, int, const void* from, int, size_t bytes, cudaStream_t) {
    return copy(to, from, bytes);
}

ENTRY cudaError_t cudaMemset(void* at, int value, size_t bytes) { return fill(at, value, bytes); }
ENTRY cudaError_t cudaMemsetAsync(void* at, int value, size_t bytes, cudaStream_t stream) {
    nodevice::clocks().work(stream);
    return fill(at, value, bytes);
}

ENTRY cudaError_t cudaPointerGetAttributes(cudaPointerAttributes* out, const void* at) {
    std::memset(out, 0, sizeof *out);
    const Space::Kind kind = space().kind_of(at);
    const auto host = nodevice::is_pinned(at) ? cudaMemoryTypeHost : cudaMemoryTypeUnregistered;
    out->type = kind == Space::Kind::host      ? host
                : kind == Space::Kind::managed ? cudaMemoryTypeManaged
                                               : cudaMemoryTypeDevice;
    out->devicePointer = const_cast<void*>(at);
    out->hostPointer = kind == Space::Kind::device ? nullptr : const_cast<void*>(at);
    return cudaSuccess;
}

ENTRY cudaError_t cudaGetSymbolAddress(void** at, const void*) {
    static char area[1 << 16];
    *at = area;
    return cudaSuccess;
}
