// bitsandbytes.optim.Lion with a 32-bit state in managed memory.
#include "model/optimizers/shared/bnb.hpp"
#include "model/step/optimizer.hpp"

namespace vramfit::optimizers {

extern const model::OptimizerType paged_lion_32bit_entry;
const model::OptimizerType paged_lion_32bit_entry{"paged_lion_32bit", nullptr, nullptr,
                                                  bnb_step<BnbStates::one, 32, true>, false};

}  // namespace vramfit::optimizers
