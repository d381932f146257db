// Keys that configurations of adapters share, and those of the kinds beside LoRA.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "spec/json_value.hpp"
#include "spec/reader.hpp"
#include "vramfit/spec/modules.hpp"
#include "vramfit/spec/train_plan.hpp"

namespace vramfit {

/// Ranks, tokens, widths.
inline constexpr IntegerRange kAtLeastOne = {.low = 1, .high = std::int64_t{1} << 31};

/// One text (a regular expression or "all-linear") or a list of names.
std::optional<TargetModules> read_targets(ObjectReader& config, std::string_view key);
JsonValue targets_to_json(const TargetModules& modules);
/// layers_to_transform and layers_pattern.
void read_layers(ObjectReader& config, LoraPlan& plan);
void read_rank_pattern(ObjectReader& config, LoraPlan& plan);
void read_alpha_pattern(ObjectReader& config, LoraPlan& plan);
/// Keys that say nothing about memory, or are written by save_pretrained.
void skip_saved_keys(ObjectReader& config);

/// The `peft_type` of all kinds that are predicted, with commas between them.
std::string known_peft_types();

/// The configuration of `plan.kind`, which is not LoRA, with the defaults of its class.
void read_other_kind(ObjectReader& config, LoraPlan& plan);
/// The same, written.
JsonValue other_kind_to_json(const LoraPlan& plan);

/// The same of kinds with virtual tokens.
void read_prompt_kind(ObjectReader& config, LoraPlan& plan);
JsonValue prompt_kind_to_json(const LoraPlan& plan);
/// TrainableTokensConfig.token_indices, or LoRA's `trainable_token_indices`, where a dictionary names the embedding.
void read_token_indices(ObjectReader& config, std::string_view key, LoraPlan& plan);
/// What peft has no default for.
void check_prompt_kind(const LoraPlan& plan, Problems& problems);

/// The same of prompts inside of attention.
void read_adaption_prompt(ObjectReader& config, LoraPlan& plan);
JsonValue adaption_prompt_to_json(const LoraPlan& plan);
void check_adaption_prompt(const ModelSpec& model, const LoraPlan& plan, Problems& problems);

/// Super-Tuning: how many entries of the module's weight are trained.
std::int64_t supertuned_entries(const AdapterOptions& options, const NamedModule& module);

/// OSF: how many ranks of the module's weight are kept as they are.
std::int64_t osf_rank(const AdapterOptions& options, const NamedModule& module);

/// BD-LoRA: which of a module's matrices are in blocks.
struct InBlocks {
    bool a = false, b = false;
};
InBlocks which_in_blocks(const BlockDiagonal& blocks, std::string_view module);
/// What peft stops at of LoRA's variants, and modules that they were not compared on.
void check_variant(const LoraPlan& plan, const std::vector<LoraTarget>& targets, Problems& problems);
/// Adapters that are made of parts of the layers' weights, which SVD or QR gives.
bool takes_weights_apart(const LoraPlan& plan);
/// "BD-LoRA", "TinyLoRA".
std::string_view title_of(const LoraPlan& plan);

/// IA3: whether the module's input is scaled, not its output. Throws Error (invalid) where peft asks for the modules.
bool is_feedforward(const ModelSpec& model, const LoraPlan& plan, const std::string& module);

}  // namespace vramfit
