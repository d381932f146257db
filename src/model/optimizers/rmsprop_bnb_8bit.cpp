// bitsandbytes.optim.RMSprop with an 8-bit state.
#include "model/optimizers/shared/bnb.hpp"
#include "model/step/optimizer.hpp"

namespace vramfit::optimizers {

extern const model::OptimizerType rmsprop_bnb_8bit_entry;
const model::OptimizerType rmsprop_bnb_8bit_entry{"rmsprop_bnb_8bit", nullptr, nullptr,
                                                  bnb_step<BnbStates::one, 8, false, false>, true};

}  // namespace vramfit::optimizers
