// Rows of the token embedding that are trained, beside LoRA or alone (peft's trainable tokens).
#pragma once

#include "model/network/run.hpp"

namespace vramfit::model {

/// TrainableTokensLayer around the token embedding, if `run.plan.peft` names tokens.
void add_trained_tokens(const Run& run, Network& network);

/// TrainableTokensLayer.get_merged_weights: the whole table with the trained rows -- [V, H].
Tensor merged_table(const Embedding& table);

}  // namespace vramfit::model
