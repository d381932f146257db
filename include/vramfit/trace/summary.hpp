// What a run needs at its highest moment, without the program itself.
#pragma once

#include <cstdint>

#include "vramfit/trace/phase.hpp"
#include "vramfit/trace/program.hpp"

namespace vramfit {

/// Highest moments of a run in requested bytes. All three are of the whole run, each at its own moment.
struct Summary {
    std::int64_t requested = 0;       ///< what tensors ask for
    Phase at;                         ///< the window of that moment
    std::int64_t with_managed = 0;    ///< the same with CUDA managed memory counted
    std::int64_t without_states = 0;  ///< the same without optimizer states
    /// Decisions that shape the sequence of events; where an optimizer state lives is not among them.
    Signature shape;
};

}  // namespace vramfit
