// bitsandbytes.optim.AdamW with 32-bit states in managed memory.
#include "model/optimizers/shared/bnb.hpp"
#include "model/step/optimizer.hpp"

namespace vramfit::optimizers {

extern const model::OptimizerType paged_adamw_32bit_entry;
const model::OptimizerType paged_adamw_32bit_entry{"paged_adamw_32bit", "paged_adamw", nullptr,
                                                   bnb_step<BnbStates::two, 32, true>, false};

}  // namespace vramfit::optimizers
