// bitsandbytes.optim.AdEMAMix with 8-bit states.
#include "model/optimizers/shared/bnb.hpp"
#include "model/step/optimizer.hpp"

namespace vramfit::optimizers {

extern const model::OptimizerType ademamix_8bit_entry;
const model::OptimizerType ademamix_8bit_entry{"ademamix_8bit", nullptr, nullptr,
                                               bnb_step<BnbStates::double_and_one, 8, false>, true};

}  // namespace vramfit::optimizers
