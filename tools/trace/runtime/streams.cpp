// Streams, events and contexts: handles with nothing but a clock behind them; no stream is ever capturing a graph.
#include <cuda_runtime_api.h>

#include <cstdlib>

#include "clocks.hpp"
#include "export.hpp"

namespace {

template <class Handle>
cudaError_t make(Handle* out) {
    *out = reinterpret_cast<Handle>(std::calloc(1, 64));
    return *out ? cudaSuccess : cudaErrorMemoryAllocation;
}

cudaError_t ready(bool yes) { return yes ? cudaSuccess : cudaErrorNotReady; }

cudaError_t not_capturing(cudaStreamCaptureStatus* status, unsigned long long* id = nullptr) {
    *status = cudaStreamCaptureStatusNone;
    if (id) *id = 0;
    return cudaSuccess;
}

}  // namespace

ENTRY cudaError_t cudaStreamCreate(cudaStream_t* out) { return make(out); }
ENTRY cudaError_t cudaStreamCreateWithFlags(cudaStream_t* out, unsigned) { return make(out); }
ENTRY cudaError_t cudaStreamCreateWithPriority(cudaStream_t* out, unsigned, int) { return make(out); }

ENTRY cudaError_t cudaStreamGetPriority(cudaStream_t, int* out) {
    *out = 0;
    return cudaSuccess;
}

ENTRY cudaError_t cudaStreamIsCapturing(cudaStream_t, cudaStreamCaptureStatus* out) { return not_capturing(out); }

// The arguments that follow in each version are outputs that only a capture has.
ENTRY_NAMED("cudaStreamGetCaptureInfo", cudaError_t, capture_1,
            (cudaStream_t, cudaStreamCaptureStatus* status, unsigned long long* id)) {
    return not_capturing(status, id);
}
ENTRY_NAMED("cudaStreamGetCaptureInfo_v2", cudaError_t, capture_2,
            (cudaStream_t, cudaStreamCaptureStatus* status, unsigned long long* id)) {
    return not_capturing(status, id);
}
ENTRY_NAMED("cudaStreamGetCaptureInfo_v3", cudaError_t, capture_3,
            (cudaStream_t, cudaStreamCaptureStatus* status, unsigned long long* id)) {
    return not_capturing(status, id);
}

ENTRY cudaError_t cudaEventCreate(cudaEvent_t* out) { return make(out); }
ENTRY cudaError_t cudaEventCreateWithFlags(cudaEvent_t* out, unsigned) { return make(out); }

ENTRY cudaError_t cudaEventDestroy(cudaEvent_t event) {
    nodevice::clocks().forget(event);
    std::free(event);
    return cudaSuccess;
}

ENTRY cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
    nodevice::clocks().record(event, stream);
    return cudaSuccess;
}

ENTRY cudaError_t cudaEventRecordWithFlags(cudaEvent_t event, cudaStream_t stream, unsigned) {
    return cudaEventRecord(event, stream);
}

ENTRY cudaError_t cudaEventQuery(cudaEvent_t event) { return ready(nodevice::clocks().is_done(event)); }
ENTRY cudaError_t cudaStreamQuery(cudaStream_t stream) { return ready(nodevice::clocks().is_idle(stream)); }

ENTRY cudaError_t cudaEventSynchronize(cudaEvent_t event) {
    nodevice::clocks().synchronize_event(event);
    return cudaSuccess;
}

ENTRY cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
    nodevice::clocks().synchronize_stream(stream);
    return cudaSuccess;
}

ENTRY cudaError_t cudaDeviceSynchronize() {
    nodevice::clocks().synchronize();
    return cudaSuccess;
}

ENTRY cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned) {
    nodevice::clocks().wait(stream, event);
    return cudaSuccess;
}

ENTRY cudaError_t cudaEventElapsedTime(float* out, cudaEvent_t, cudaEvent_t) {
    *out = 0;
    return cudaSuccess;
}

ENTRY int cuCtxGetCurrent(void** out) {
    static int context;
    *out = &context;
    return 0;
}

ENTRY int cuDevicePrimaryCtxRetain(void** out, int) { return cuCtxGetCurrent(out); }

ENTRY int cuDevicePrimaryCtxGetState(int, unsigned* flags, int* active) {
    *flags = 0;
    *active = 1;
    return 0;
}

ENTRY int cuCtxGetLimit(size_t* out, int) {
    *out = 1 << 20;
    return 0;
}
