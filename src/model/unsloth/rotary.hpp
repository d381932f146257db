// Rotary embeddings: tables of all positions for the run, and queries and keys turned by one function.
#pragma once

#include "model/unsloth/unsloth.hpp"

namespace vramfit::model {

/// LlamaRotaryEmbedding.__init__.
void make_placeholders(const Run& run);

/// In the first forward: cos and sin of all positions, for padded rows of the first ones.
void make_position_tables(const Run& run);

/// By what a layer turns so many tokens: by `given`, the tables that the batch began with, if they have as many rows;
/// else the tables grow, and those of gemma are cast.
PositionTables tables_for(const Run& run, const PositionTables& given, Size tokens);

/// Turns copies of queries and keys, [1, heads, T, head] each, or those of padded rows in place. `tables` stay until
/// the gradients are turned back.
void turn(Tensor& query, Tensor& key, bool in_place, const PositionTables& tables);

}  // namespace vramfit::model
