// bitsandbytes.optim.AdEMAMix with 32-bit states.
#include "model/optimizers/shared/bnb.hpp"
#include "model/step/optimizer.hpp"

namespace vramfit::optimizers {

extern const model::OptimizerType ademamix_entry;
const model::OptimizerType ademamix_entry{"ademamix", nullptr, nullptr, bnb_step<BnbStates::double_and_one, 32, false>,
                                          false};

}  // namespace vramfit::optimizers
