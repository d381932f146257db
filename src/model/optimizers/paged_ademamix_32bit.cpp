// bitsandbytes.optim.AdEMAMix with 32-bit states in managed memory.
#include "model/optimizers/shared/bnb.hpp"
#include "model/step/optimizer.hpp"

namespace vramfit::optimizers {

extern const model::OptimizerType paged_ademamix_32bit_entry;
const model::OptimizerType paged_ademamix_32bit_entry{"paged_ademamix_32bit", nullptr, nullptr,
                                                      bnb_step<BnbStates::double_and_one, 32, true>, false};

}  // namespace vramfit::optimizers
