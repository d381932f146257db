// What the models and loops can record exactly; the rest is refused, never approximated.
#pragma once

#include "model/network/run.hpp"

namespace vramfit::model {

/// Throws Error (unsupported) with everything in the plan that no file records.
void refuse_unsupported(const Run& run);

}  // namespace vramfit::model
