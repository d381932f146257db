// Rotary position embeddings: the tables and their application.
#pragma once

#include "model/layers/inputs.hpp"

namespace vramfit::model {

/// LlamaRotaryEmbedding.forward: cos and sin in a dtype. position_ids -- [1 or B, S]. `half_tables`: each
/// frequency once.
Rotary rotary_tables(const Tensor& inv_freq, DType dtype, const Tensor& position_ids, bool half_tables,
                     bool neighbours = false);

/// dynamic_rope_update: frequencies of types that follow the length are made anew when it grows.
void update_frequencies(const Network& network, const Tensor& position_ids);

/// Queries alone: q * cos + rotate_half(q) * sin.
Tensor turned_queries(const Tensor& q, const Rotary& rotary);
/// apply_rotary_pos_emb: q -- [B, H, S, D], k -- [B, Hk, S, D]; both are rebound.
void apply_rotary(Tensor& q, Tensor& k, const Rotary& rotary);
/// The same with a family's own way of turning one of them.
using Rotate = Tensor (*)(const Tensor& x, const Tensor& cos, const Tensor& sin);
void apply_rotary(Tensor& q, Tensor& k, const Rotary& rotary, Rotate turn);
/// The same, in the tables' dtype and cast back (olmo2).
void apply_rotary_and_cast(Tensor& q, Tensor& k, const Rotary& rotary);
/// Turns the first places of each vector, as many as the tables have: phi3's and gpt_neox's way.
void apply_rotary_one_by_one(Tensor& q, Tensor& k, const Rotary& rotary);
void apply_rotary_then_join(Tensor& q, Tensor& k, const Rotary& rotary);
/// The same where neighbours are turned, with each frequency twice in a row (glm4).
void apply_rotary_of_neighbours(Tensor& q, Tensor& k, const Rotary& rotary);
/// Neighbours again, in float32 (cohere, cohere2).
void apply_rotary_in_float32(Tensor& q, Tensor& k, const Rotary& rotary);
/// The same where the parts keep their names to the end: phi, nemotron.
void apply_rotary_of_halves(Tensor& q, Tensor& k, const Rotary& rotary, std::vector<Tensor>& named);
void apply_rotary_and_join(Tensor& q, Tensor& k, const Rotary& rotary);

}  // namespace vramfit::model
