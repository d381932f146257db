// The methods that are compared: how each changes a run.
#pragma once

#include <span>

#include "vramfit/spec/train_plan.hpp"

namespace vramfit {

/// One way to share a run among cards.
struct Candidate {
    const char* id;
    const char* title;
    bool alone = false;      ///< on one of the cards
    bool quantized = false;  ///< over the quantized network
    bool uneven = false;     ///< processes hold different amounts
    bool context = false;    ///< all processes share each sequence
    /// The processes' method; null: one process, or not predicted.
    DistributedMethod (*method)() = nullptr;
    const char* refusal = "";  ///< why it is not predicted
};

std::span<const Candidate> method_candidates();

}  // namespace vramfit
