// What prompts inside of attention add to its output (peft's adaption prompt).
#pragma once

#include "model/layers/attention/attention.hpp"
#include "model/layers/family.hpp"

namespace vramfit::model {

/// AdaptedAttention.forward behind the attention that it wraps: hidden -- [B, S, H], what attention was called with.
Tensor with_adaption_prompt(const Run& run, const DecoderLayer& layer, const Tensor& hidden, const LayerInputs& inputs,
                            Tensor output);

}  // namespace vramfit::model
