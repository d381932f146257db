// What peft makes of targets that were modules before transformers 5 merged the experts.
#pragma once

#include <string>
#include <vector>

#include "vramfit/spec/model_spec.hpp"
#include "vramfit/spec/train_plan.hpp"

namespace vramfit {

/// The plan with `target_modules` and `target_parameters` as peft uses them for this network. Throws Error (invalid)
/// for targets that cannot be converted.
LoraPlan converted_lora(const ModelSpec& model, const LoraPlan& plan);

}  // namespace vramfit
