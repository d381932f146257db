// LoRA: creation of the adapters and their forward passes.
#pragma once

#include "engine/session.hpp"
#include "model/network.hpp"

namespace vramfit::model {

/// peft.get_peft_model: freezes the base, adds adapters to the targets, raises their dtype as the version does.
void add_adapters(engine::Session& session, Network& network, const LoraPlan& plan);

/// peft.tuners.lora Linear.forward and Linear4bit.forward.
Tensor lora_linear(const Linear& layer, const Tensor& x);

/// peft.tuners.lora.layer Embedding.forward.
Tensor lora_embedding(const Embedding& layer, const Tensor& ids);

}  // namespace vramfit::model
