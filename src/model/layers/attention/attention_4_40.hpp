// The attention of transformers 4.40: rotary tables in each layer, additive masks, keys and values in a cache.
#pragma once

#include "model/layers/family.hpp"

namespace vramfit::model {

/// XAttention.forward and XSdpaAttention.forward: hidden -- [B, S, H], the normed input.
Tensor self_attention_4_40(const Run& run, const Family& family, const DecoderLayer& layer, const Tensor& hidden,
                           const LayerInputs& inputs);

/// cos and sin, [1, S, D] (or [S, D] where `old_rotary` is `tables`) in the dtype of `value` -- [B, Hk, S, D].
Rotary rotary_4_40(const Family& family, const DecoderLayer& layer, const Tensor& value, const LayerInputs& inputs,
                   Size further);

/// The additive mask [B, 1, S, S or S + 1]; undefined where sdpa's causal flag does it.
Tensor mask_4_40(const Run& run, const Family& family, const Tensor& embedded, const Batch& batch,
                 const Tensor& positions);

/// MistralModel.forward and Qwen2Model's: with a cache and flash_attn the host reads attention_mask[:, -1].sum().
void look_for_right_padding(const Run& run, const Batch& batch);

}  // namespace vramfit::model
