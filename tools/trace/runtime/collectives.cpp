// NCCL without other ranks: communicators know their rank, collectives are work for a stream and move nothing.
#include <cstddef>
#include <cstring>

#include "answers.hpp"
#include "clocks.hpp"
#include "export.hpp"

// NCCL's own header lies elsewhere in each release of its package; these are the parts of its ABI that count here
// (nccl.h 2.19 to 2.28).
namespace {

constexpr int kSuccess = 0;      // ncclSuccess
constexpr int kVersion = 22900;  // newer than every check of PyTorch

struct UniqueId {
    char bytes[128];
};

struct Communicator {
    int rank;
    int size;
};

/// Bytes of an ncclDataType_t: int8, uint8, int32, uint32, int64, uint64, half, float, double, bfloat16, two of 8 bits.
std::size_t width(int type) {
    constexpr std::size_t kWidths[] = {1, 1, 4, 4, 8, 8, 2, 4, 8, 2, 1, 1};
    return kWidths[type];
}

int make(Communicator** out, int size, int rank) {
    *out = new Communicator{rank, size};
    return kSuccess;
}

/// As if every rank sent what this one sends.
int send(const void* stream, void* to, const void* from, std::size_t bytes, int copies = 1) {
    nodevice::clocks().work(stream);
    for (int i = 0; i < copies && nodevice::carries(bytes); ++i) {
        char* const part = static_cast<char*>(to) + static_cast<std::size_t>(i) * bytes;
        if (part != from) std::memmove(part, from, bytes);
    }
    return kSuccess;
}

int only_work(const void* stream) {
    nodevice::clocks().work(stream);
    return kSuccess;
}

}  // namespace

ENTRY int ncclGetVersion(int* out) {
    *out = kVersion;
    return kSuccess;
}

ENTRY int ncclGetUniqueId(UniqueId* out) {
    std::memset(out, 1, sizeof *out);
    return kSuccess;
}

ENTRY const char* ncclGetErrorString(int) { return "NCCL without other ranks"; }
ENTRY const char* ncclGetLastError(Communicator*) { return ""; }

ENTRY int ncclCommInitRank(Communicator** out, int size, UniqueId, int rank) { return make(out, size, rank); }
ENTRY int ncclCommInitRankConfig(Communicator** out, int size, UniqueId, int rank, void*) {
    return make(out, size, rank);
}
ENTRY int ncclCommInitRankScalable(Communicator** out, int size, int rank, int, UniqueId*, void*) {
    return make(out, size, rank);
}
ENTRY int ncclCommSplit(Communicator* from, int, int key, Communicator** out, void*) {
    return make(out, from->size, key);
}

ENTRY int ncclCommGetAsyncError(Communicator*, int* out) {
    *out = kSuccess;
    return kSuccess;
}

ENTRY int ncclCommCount(const Communicator* of, int* out) {
    *out = of->size;
    return kSuccess;
}

ENTRY int ncclCommUserRank(const Communicator* of, int* out) {
    *out = of->rank;
    return kSuccess;
}

ENTRY int ncclCommCuDevice(const Communicator*, int* out) {
    *out = 0;
    return kSuccess;
}

ENTRY int ncclCommRegister(const Communicator*, void* buffer, std::size_t, void** out) {
    *out = buffer;
    return kSuccess;
}

ENTRY int ncclRedOpCreatePreMulSum(int* out, void*, int, int, Communicator*) {
    *out = 0;
    return kSuccess;
}

ENTRY int ncclAllReduce(const void* from, void* to, std::size_t count, int type, int, Communicator*, void* stream) {
    return send(stream, to, from, count * width(type));
}

ENTRY int ncclBroadcast(const void* from, void* to, std::size_t count, int type, int, Communicator*, void* stream) {
    return from ? send(stream, to, from, count * width(type)) : only_work(stream);
}

ENTRY int ncclReduce(const void* from, void* to, std::size_t count, int type, int, int, Communicator*, void* stream) {
    return to ? send(stream, to, from, count * width(type)) : only_work(stream);
}

ENTRY int ncclAllGather(const void* from, void* to, std::size_t count, int type, Communicator* among, void* stream) {
    return send(stream, to, from, count * width(type), among->size);
}

ENTRY int ncclBcast(void*, std::size_t, int, int, Communicator*, void* stream) { return only_work(stream); }
ENTRY int ncclReduceScatter(const void*, void*, std::size_t, int, int, Communicator*, void* stream) {
    return only_work(stream);
}
ENTRY int ncclAlltoAll(const void*, void*, std::size_t, int, Communicator*, void* stream) { return only_work(stream); }
ENTRY int ncclSend(const void*, std::size_t, int, int, Communicator*, void* stream) { return only_work(stream); }
ENTRY int ncclRecv(void*, std::size_t, int, int, Communicator*, void* stream) { return only_work(stream); }
