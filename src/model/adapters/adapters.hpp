// LoRA: creation of the adapters and their forward passes.
#pragma once

#include "model/network/run.hpp"

namespace vramfit::model {

/// peft.get_peft_model: freezes the base, adds adapters to the targets, raises their dtype as the version does.
/// Throws Error (unsupported) for what LoraConfig can do and this program cannot.
void add_adapters(const Run& run, Network& network);

/// peft.tuners.lora Linear.forward and Linear4bit.forward.
Tensor lora_linear(const Linear& layer, const Tensor& x);

/// peft.tuners.lora.layer Embedding.forward.
Tensor lora_embedding(const Embedding& layer, const Tensor& ids);

}  // namespace vramfit::model
