// What scripts for several trainers have in common: the keys of their calls, the network, adapters, rows.
#pragma once

#include "trainers/reader.hpp"
#include "trainers/trainer_format.hpp"

namespace vramfit::trainers {

/// Keys of the calls in any script, beside those of the trainer's configuration.
extern const std::span<const KeyRow> kScriptKeys;
extern const std::span<const KeyRow> kScriptHarmless;

/// What proposals change in scripts of trl's trainers.
inline constexpr TrainerKnobs kTrlScriptKnobs = {.batch = "per_device_train_batch_size",
                                                 .accumulation = "gradient_accumulation_steps",
                                                 .rank = "peft_config.r",
                                                 .checkpointing = "gradient_checkpointing=True",
                                                 .optimizer = "optim=paged_adamw_8bit"};

/// The configuration is known, and its names are those of the release; false: the rest need not be read.
bool judge_script(Reader& reader);

/// from_pretrained, quantization, what is done with the network before the trainer has it, and peft's adapters.
/// `by_trl`: a network that is named to SFTTrainer is loaded by trl.
void read_script_network(Reader& reader, bool by_trl, Draft& draft);

/// SFTConfig's rows; max_length=None leaves them as long as they are.
void read_script_rows(Reader& reader, Draft& draft);

/// The script's trainer is transformers' own, not trl's.
bool is_plain_trainer(const Document& document);
bool is_unsloth(const Document& document);
/// A script that calls this trainer of trl's.
bool calls_trainer(const Document& document, std::string_view trainer);

}  // namespace vramfit::trainers
