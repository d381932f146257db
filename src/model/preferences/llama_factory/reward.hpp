// LLaMA-Factory's reward models: trl's value head around the language model.
#pragma once

#include "model/causal_lm/causal_lm.hpp"

namespace vramfit::model {

/// AutoModelForCausalLMWithValueHead.from_pretrained: the head is in host memory until Trainer moves it.
void add_value_head(const Run& run, Network& network);
void move_value_head(const Run& run, Network& network);

/// PairwiseTrainer.compute_loss.
Tensor factory_reward_loss(const Run& run, const Network& network, const Batch& batch, const Place& place);

}  // namespace vramfit::model
