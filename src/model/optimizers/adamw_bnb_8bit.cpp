// bitsandbytes.optim.AdamW with 8-bit states.
#include "model/optimizers/shared/bnb.hpp"
#include "model/step/optimizer.hpp"

namespace vramfit::optimizers {

extern const model::OptimizerType adamw_bnb_8bit_entry;
const model::OptimizerType adamw_bnb_8bit_entry{"adamw_bnb_8bit", "adamw_8bit", nullptr,
                                                bnb_step<BnbStates::two, 8, false>, true};

}  // namespace vramfit::optimizers
