// No optimizer: gradients are computed and dropped.
#include "model/step/optimizer.hpp"

namespace vramfit::optimizers {

extern const model::OptimizerType none_entry;
const model::OptimizerType none_entry{"none", nullptr, nullptr, nullptr};

}  // namespace vramfit::optimizers
