// DeepSpeed's JSON to a plan and back.
#pragma once

#include "spec/json_value.hpp"
#include "spec/reader.hpp"
#include "vramfit/spec/zero_plan.hpp"

namespace vramfit {

/// Reports every key that is neither known nor without an effect on memory.
ZeroPlan read_deepspeed(ObjectReader config);

/// The configuration that `read_deepspeed` reads as this plan.
JsonValue deepspeed_to_json(const ZeroPlan& plan);

}  // namespace vramfit
