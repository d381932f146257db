// The card: how much it holds, what it can run, and the settings of the allocator on it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "vramfit/base/bytes.hpp"
#include "vramfit/base/note.hpp"
#include "vramfit/spec/assumption.hpp"

namespace vramfit {

/// CUDA compute capability, 8.6 = {8, 6}.
struct Capability {
    int major = 8;
    int minor = 0;
    friend constexpr auto operator<=>(const Capability&, const Capability&) = default;
};

/// A card and what may be used of it. `usable` is what the caching allocator can take in all:
/// total − context − reserve, as assumed; `usable_low` and `usable_high` are its ends over all that is not known.
/// Without a card (`capacity_known` false) nothing is ever too large.
struct Device {
    std::string name;
    Capability capability;
    int multiprocessors = 108;
    std::optional<Bytes> l2_cache;  ///< absent: the largest of its generation (l2_cache_of)
    bool capacity_known = false;
    Bytes total;         ///< as CUDA reports it
    Bytes context;       ///< CUDA context and loaded kernels
    Bytes reserve;       ///< kept free for displays, other processes, headroom
    Bytes communicator;  ///< NCCL's buffers, of several processes; part of `context` (of_process)
    Bytes engine;        ///< what vLLM in the trainer's process takes; part of `reserve` (of_process)
    Bytes usable;
    std::string alloc_conf;  ///< PYTORCH_CUDA_ALLOC_CONF or PYTORCH_ALLOC_CONF
    std::optional<std::string> cublas_workspace_config;
    std::optional<std::string> cublaslt_workspace_size;
    Notes notes;
    Assumptions assumptions;  ///< what is not known of the card; empty: the figures are exact

    Bytes usable_low() const { return usable - at_worst(assumptions); }
    Bytes usable_high() const { return usable + at_best(assumptions); }
};

/// The L2 cache, as far as it is known: else the largest of cards of this capability.
Bytes l2_cache_of(const Device& device);

}  // namespace vramfit
