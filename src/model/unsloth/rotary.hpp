// Rotary embeddings: tables of all positions for the run, and queries and keys turned by one function.
#pragma once

#include "model/unsloth/unsloth.hpp"

namespace vramfit::model {

/// LlamaRotaryEmbedding.__init__.
void make_placeholders(const Run& run);

/// In the first forward: cos and sin of all positions.
void make_position_tables(const Run& run);

/// Turns copies of queries and keys, [1, heads, T, head] each.
void turn(Tensor& query, Tensor& key);

}  // namespace vramfit::model
