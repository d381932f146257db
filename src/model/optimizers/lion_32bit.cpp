// bitsandbytes.optim.Lion with a 32-bit state.
#include "model/optimizers/shared/bnb.hpp"
#include "model/step/optimizer.hpp"

namespace vramfit::optimizers {

extern const model::OptimizerType lion_32bit_entry;
const model::OptimizerType lion_32bit_entry{"lion_32bit", nullptr, nullptr, bnb_step<BnbStates::one, 32, false>, false};

}  // namespace vramfit::optimizers
