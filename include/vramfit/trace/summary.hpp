// What a run needs at its highest moment, without the program itself.
#pragma once

#include <cstdint>

#include "vramfit/trace/phase.hpp"

namespace vramfit {

/// The highest moment of a run in requested bytes.
struct Summary {
    std::int64_t requested = 0;  ///< what tensors ask for
    Phase at;                    ///< the window of that moment
};

}  // namespace vramfit
