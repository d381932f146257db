// The reference's scores of the data before training.
#pragma once

#include "model/preferences/reference.hpp"

namespace vramfit::model {

/// _precompute_ref_logps: the policy before its training, without adapters, over the data. The second batch stands for
/// all later ones.
void precompute_references(const Run& run, Network& policy);

/// Whether that is done where training makes its loader, and not in the constructor.
bool precomputes_in_training(const TrainPlan& plan);

}  // namespace vramfit::model
