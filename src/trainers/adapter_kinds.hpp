// Configurations of peft's adapters beside LoRA, as files and scripts write them.
#pragma once

#include <string>
#include <string_view>

#include "trainers/reader.hpp"

namespace vramfit::trainers {

/// Reads the map at `prefix` (empty: the whole file) as the configuration of the kind that `type` names, a `peft_type`
/// or a class. Refuses kinds that are not predicted, and what is not predicted of the others.
void read_other_adapter(Reader& reader, const std::string& prefix, std::string_view type, Draft& draft);

/// LoraConfig.trainable_token_indices: a list of tokens, or one for a module.
void read_trained_tokens(Reader& reader, const std::string& key, LoraPlan& plan);

}  // namespace vramfit::trainers
