// DeepSpeed configurations that stand in files of their own, and the one that a stage alone means.
#pragma once

#include <string_view>

#include "vramfit/spec/zero_plan.hpp"

namespace vramfit {

/// What transformers.TrainingArguments(deepspeed=FILE) takes. `file` names it in errors. Throws one Error with every
/// key that is wrong (invalid) or whose effect on memory is not known (unsupported).
ZeroPlan read_deepspeed_file(std::string_view text, std::string_view file);

/// The configuration of transformers' documentation for that stage: DeepSpeed's AdamW, "auto" wherever Trainer fills
/// something in.
ZeroPlan zero_plan_of(std::int64_t stage);

}  // namespace vramfit
