// The network and its adapters by the keys of trl's scripts.
#pragma once

#include "trainers/reader.hpp"
#include "trainers/trainer_format.hpp"

namespace vramfit::trainers {

/// What proposals change in files of trl's trainers.
inline constexpr TrainerKnobs kTrlKnobs = {.batch = "per_device_train_batch_size",
                                           .accumulation = "gradient_accumulation_steps",
                                           .rank = "lora_r",
                                           .checkpointing = "gradient_checkpointing=true",
                                           .sdpa = "attn_implementation=sdpa",
                                           .optimizer = "optim=paged_adamw_8bit",
                                           .double_quant = "use_bnb_nested_quant=true",
                                           .bfloat16 = "torch_dtype|dtype=bfloat16",
                                           .quantize = "load_in_4bit=true use_bnb_nested_quant=true load_in_8bit=",
                                           .lora = "use_peft=true",
                                           .qlora = "use_peft=true load_in_4bit=true use_bnb_nested_quant=true"};

/// ModelConfig: dtype, attention, quantization, LoRA.
void read_trl_model(Reader& reader, Draft& draft);

}  // namespace vramfit::trainers
