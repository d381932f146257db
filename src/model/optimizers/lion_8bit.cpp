// bitsandbytes.optim.Lion with an 8-bit state.
#include "model/optimizers/shared/bnb.hpp"
#include "model/step/optimizer.hpp"

namespace vramfit::optimizers {

extern const model::OptimizerType lion_8bit_entry;
const model::OptimizerType lion_8bit_entry{"lion_8bit", nullptr, nullptr, bnb_step<BnbStates::one, 8, false>, true};

}  // namespace vramfit::optimizers
