// bitsandbytes.optim.Lion with an 8-bit state in managed memory.
#include "model/optimizers/shared/bnb.hpp"
#include "model/step/optimizer.hpp"

namespace vramfit::optimizers {

extern const model::OptimizerType paged_lion_8bit_entry;
const model::OptimizerType paged_lion_8bit_entry{"paged_lion_8bit", nullptr, nullptr, bnb_step<BnbStates::one, 8, true>,
                                                 true};

}  // namespace vramfit::optimizers
