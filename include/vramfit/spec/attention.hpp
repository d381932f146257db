// The attention that from_pretrained chooses where none is asked for.
#pragma once

#include "vramfit/spec/model_spec.hpp"
#include "vramfit/spec/train_plan.hpp"

namespace vramfit {

/// sdpa, or eager where the class has no sdpa.
AttentionImplementation default_attention(const ModelSpec& model);

}  // namespace vramfit
