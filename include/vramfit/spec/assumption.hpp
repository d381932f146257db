// What is not known about a card or a run, with the least and the most that it can take.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "vramfit/base/bytes.hpp"

namespace vramfit {

enum class AssumptionKind : std::uint8_t {
    total,         ///< what CUDA reports is less than what the driver or the box says
    context,       ///< the CUDA context and the kernels that are loaded into it
    communicator,  ///< NCCL's buffers
    timing,        ///< when NCCL's watchdog lets go of what has been sent
    ddp_buckets,   ///< old and new buckets of DDP alive together
    load_order,    ///< threads of the loader race
    workspace,     ///< a library's scratch that it does not tell
    engine,        ///< vLLM in the trainer's process
};

/// The name in JSON: "context".
const char* name_of(AssumptionKind kind);

/// Memory of a card that a run may or may not have for its tensors. `assumed` is what the levels are computed with.
struct Assumption {
    AssumptionKind kind = AssumptionKind::context;
    Bytes least;
    Bytes assumed;
    Bytes most;
    std::string what;     ///< "the CUDA context of NVIDIA A10G"
    std::string source;   ///< of both ends
    std::string measure;  ///< what to measure and what to say then
};

using Assumptions = std::vector<Assumption>;

/// How much less than assumed there may be for tensors.
Bytes at_worst(const Assumptions& assumptions);
/// How much more there may be.
Bytes at_best(const Assumptions& assumptions);

/// The one with the widest span, on which a verdict between the ends depends most; nullptr without any.
const Assumption* widest(const Assumptions& assumptions);

}  // namespace vramfit
