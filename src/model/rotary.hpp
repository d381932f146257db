// Rotary position embeddings: the tables and their application.
#pragma once

#include "model/context.hpp"

namespace vramfit::model {

/// LlamaRotaryEmbedding.forward: cos and sin in x's dtype. position_ids -- [1 or B, S]. `half_tables`: each frequency
/// once.
Rotary rotary_tables(const Tensor& inv_freq, const Tensor& x, const Tensor& position_ids, bool half_tables);

/// dynamic_rope_update: frequencies of types that follow the length are made anew when it grows.
void update_frequencies(const Network& network, const Tensor& position_ids);

/// apply_rotary_pos_emb: q -- [B, H, S, D], k -- [B, Hk, S, D]; both are rebound.
void apply_rotary(Tensor& q, Tensor& k, const Rotary& rotary);

}  // namespace vramfit::model
