// bitsandbytes.optim.RMSprop with a 32-bit state.
#include "model/optimizers/shared/bnb.hpp"
#include "model/step/optimizer.hpp"

namespace vramfit::optimizers {

extern const model::OptimizerType rmsprop_bnb_entry;
const model::OptimizerType rmsprop_bnb_entry{"rmsprop_bnb", "rmsprop_bnb_32bit", nullptr,
                                             bnb_step<BnbStates::one, 32, false, false>, false};

}  // namespace vramfit::optimizers
