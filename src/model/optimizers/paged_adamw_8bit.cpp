// bitsandbytes.optim.AdamW with 8-bit states in managed memory.
#include "model/optimizer.hpp"
#include "model/optimizers/shared/bnb_two_state.hpp"

namespace vramfit::optimizers {

extern const model::OptimizerType paged_adamw_8bit_entry;
const model::OptimizerType paged_adamw_8bit_entry{"paged_adamw_8bit", nullptr, nullptr, bnb_two_state_step<8, true>,
                                                  true};

}  // namespace vramfit::optimizers
