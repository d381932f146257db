// from_pretrained: the network comes onto the device.
#pragma once

#include <optional>

#include "model/network/run.hpp"

namespace vramfit::model {

/// Loads every tensor of the checkpoint in the order of the loader, quantizing on the way, as the stack's transformers
/// does.
Network load(const Run& run);

/// Whether the network stays in host memory until the Trainer moves it: one of several processes, nothing quantized, or
/// for FSDP by releases that take packed weights back.
bool waits_on_host(const Run& run);

/// Whether TrainingArguments(bf16=True) of one of several processes, or LLaMA-Factory's import, tries bf16 on a card
/// that has none of its own, which takes a segment. With one process that is behind the load and shows nowhere.
bool asks_for_bf16(const Run& run);

/// Whether it is asked for once the weights are loaded: one of several processes whose trainer comes behind the load.
bool asks_for_bf16_late(const Run& run);

/// Bytes of a segment which the loader finds reserved and unused.
std::int64_t left_before_load(const Run& run);

/// Whether packed weights go back to host memory once they are quantized.
bool takes_packed_back(const Run& run);

/// Whether the Trainer leaves the network in host memory, for FSDP to cut it.
bool is_sharded(const TrainPlan& plan);

/// Whether DeepSpeed cuts each module as it is made: ZeRO-3.
bool is_partitioned(const TrainPlan& plan);

/// Module.to: parameters and buffers, module by module. `buffers`: what floating-point buffers were cast to before.
void move_to_device(const Run& run, Network& network, std::optional<DType> buffers = {});

}  // namespace vramfit::model
