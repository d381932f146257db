// The L2 caches of cards by their generation: NVIDIA's architecture whitepapers (P100, V100, Turing, A100, GA102, Ada,
// H100, Blackwell), the largest card of each; what a job names by a word of the tracer has its own.
#include "vramfit/spec/device.hpp"

namespace vramfit {

Bytes l2_cache_of(const Device& device) {
    if (device.l2_cache) return *device.l2_cache;
    const Capability& c = device.capability;
    if (c.major < 7) return Bytes{4 * kMiB};
    if (c.major == 7) return Bytes{6 * kMiB};
    if (c == Capability{8, 0}) return Bytes{40 * kMiB};
    if (c < Capability{8, 9}) return Bytes{6 * kMiB};
    if (c == Capability{8, 9}) return Bytes{96 * kMiB};
    if (c.major == 9) return Bytes{60 * kMiB};
    return Bytes{128 * kMiB};
}

}  // namespace vramfit
