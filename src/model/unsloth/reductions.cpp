// torch 2.11 _inductor/choices.py reduction_split_factor, of an inner reduction.
#include "model/unsloth/reductions.hpp"

#include <algorithm>
#include <cstdlib>

#include "engine/session.hpp"
#include "vramfit/base/checked.hpp"

namespace vramfit::model {

using namespace engine;

namespace {

constexpr std::int64_t kThreads = 256;       // of a block: 8 warps of 32
constexpr std::int64_t kLeastOfThread = 32;  // min_elements_per_thread
constexpr std::int64_t kMostOfThread = 512;  // max_elements_per_thread
constexpr std::int64_t kUncut = 8192;        // shorter reductions are left whole

/// The divisor of `number` that is nearest to `wanted`, the smaller one of two.
std::int64_t nearest_divisor(std::int64_t number, std::int64_t wanted) {
    for (std::int64_t off = 0;; ++off) {
        if (wanted > off && number % (wanted - off) == 0) return wanted - off;
        if (number % (wanted + off) == 0) return wanted + off;
    }
}

std::int64_t elements_of_thread(std::int64_t outputs, std::int64_t reduced, std::int64_t processors,
                                std::int64_t threads) {
    const std::int64_t all = outputs * reduced;
    if (all <= kLeastOfThread * processors * threads) return kLeastOfThread;
    if (all >= kMostOfThread * processors * threads) {
        const std::int64_t even = nearest_divisor(reduced, kMostOfThread);
        return std::abs(even - kMostOfThread) < 50 ? even : kMostOfThread;
    }
    const std::int64_t blocks = ceil_div(processors * threads / (2 * kThreads), outputs);
    const std::int64_t wanted = ceil_div(reduced, kThreads * blocks);
    const std::int64_t even = nearest_divisor(reduced, wanted);
    return std::abs(even - wanted) < 30 ? std::max(even, kLeastOfThread) : wanted;
}

/// CUDA's maxThreadsPerMultiProcessor.
std::int64_t threads_of(const Capability& card) {
    if (card == Capability{7, 5}) return 1024;
    const bool consumer = card.major == 8 && card.minor > 0;
    return consumer || card.major >= 12 ? 1536 : 2048;
}

std::int64_t pieces_of(const void* context, std::span<const std::int64_t> a) {
    const auto& device = *static_cast<const Device*>(context);
    const std::int64_t processors = device.multiprocessors;
    if (a[0] >= 2 * processors || a[1] <= kUncut) return 1;
    const std::int64_t each = elements_of_thread(a[0], a[1], processors, threads_of(device.capability));
    return ceil_div(a[1], each * kThreads);
}

}  // namespace

Size reduction_pieces(const Session& session, Size outputs, Size reduced) {
    return apply({pieces_of, "reduction_pieces"}, &session.device, {outputs, reduced});
}

}  // namespace vramfit::model
