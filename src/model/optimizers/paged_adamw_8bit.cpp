// bitsandbytes.optim.AdamW with 8-bit states in managed memory.
#include "model/optimizers/shared/bnb.hpp"
#include "model/step/optimizer.hpp"

namespace vramfit::optimizers {

extern const model::OptimizerType paged_adamw_8bit_entry;
const model::OptimizerType paged_adamw_8bit_entry{"paged_adamw_8bit", nullptr, nullptr,
                                                  bnb_step<BnbStates::two, 8, true>, true};

}  // namespace vramfit::optimizers
