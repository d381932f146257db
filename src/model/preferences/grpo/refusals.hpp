// What GRPOTrainer and RLOOTrainer were not compared with, and which networks generate as they were.
#pragma once

#include <vector>

#include "model/network/run.hpp"
#include "vramfit/base/error.hpp"

namespace vramfit::model {

/// Whether generation by the family was compared.
bool has_compared_generation(const ModelSpec& spec);
/// Qwen's windows are switched on by hand and only for some layers: they were not compared.
bool has_windows_of_qwen(const ModelSpec& spec);

/// Whether transformers' generate runs in a step, of the network that is trained.
bool generates_by_transformers(const TrainPlan& plan);

/// Of networks whose own tokens are trained on.
void refuse_generation(const ModelSpec& spec, std::vector<Problem>& problems);

/// Where the trainer leaves to the checkpoint whether keys and values are kept.
void refuse_without_cache(const ModelSpec& spec, std::vector<Problem>& problems);

void refuse_in_groups(const Run& run, std::vector<Problem>& problems);

}  // namespace vramfit::model
