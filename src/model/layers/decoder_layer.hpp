// The decoder layers that families share.
#pragma once

#include "model/layers/attention/attention.hpp"
#include "model/layers/family.hpp"

namespace vramfit::model {

/// Attention of Llama and of all families that took it over: hidden -- [B, S, H], the normed input. The output is
/// [B, S, H].
Attended self_attention(const Run& run, const Family& family, const DecoderLayer& layer, const Tensor& hidden,
                        const LayerInputs& inputs);

/// One norm before attention, one before the MLP (LlamaDecoderLayer).
Tensor pre_norm_layer(const Run& run, const Family& family, const DecoderLayer& layer, const Tensor& hidden,
                      const LayerInputs& inputs);

/// The same with norms behind both as well (Gemma2DecoderLayer).
Tensor four_norm_layer(const Run& run, const Family& family, const DecoderLayer& layer, const Tensor& hidden,
                       const LayerInputs& inputs);

/// Attention and MLP beside each other behind one norm; what they gave keeps its names (CohereDecoderLayer).
Tensor side_by_side_layer(const Run& run, const Family& family, const DecoderLayer& layer, const Tensor& hidden,
                          const LayerInputs& inputs);

/// logit_scale of Cohere.
Tensor scale_logits(const Run& run, Tensor logits);

/// final_logit_softcapping of Gemma 2 and 3.
Tensor cap_logits(const Run& run, Tensor logits);

}  // namespace vramfit::model
