// Reading a Hugging Face config.json, and what follows from it alone.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "vramfit/spec/adapter_kind.hpp"
#include "vramfit/spec/model_spec.hpp"
#include "vramfit/spec/version.hpp"

namespace vramfit {

struct Stack;

/// The network that a config.json describes. `file` names it in errors, `name` becomes ModelSpec::name (the file if
/// empty). Absent keys have the defaults of transformers' configuration class; keys that say nothing about memory are
/// not looked at. Throws Error with all problems: invalid, or unsupported for other model types.
ModelSpec read_config(std::string_view text, std::string_view file, std::string_view name = {});

/// The network that trainers load: of a model of text and images the whole, with the towers that batches of text leave
/// alone, where its type was recorded and the text part was not asked for; where nothing is said, what
/// AutoModelForCausalLM loads. Else the model itself. Throws Error (unsupported, invalid) with the keys of its
/// configuration that the recording does not cover.
ModelSpec as_loaded(const ModelSpec& model, std::optional<bool> text_part);

/// The network as the stack's libraries have it: of a recorded type that differs between releases, the recording of
/// its own, else the model itself. Throws Error (unsupported, invalid) with the keys of its configuration that this
/// recording does not cover.
ModelSpec under_release(const ModelSpec& model, const Stack& stack);

/// Whether towers for images or sound stand beside the text decoder.
bool has_towers(const ModelSpec& model);

/// The model as a config.json that reads back as the same ModelSpec (but for its name).
std::string to_config_text(const ModelSpec& model);

/// The model types that `read_config` knows: "gemma", "gemma2", ...
std::vector<std::string_view> model_families();

/// The model types whose networks are recordings that are part of the program.
std::vector<std::string_view> recorded_types();

/// The first release of transformers that has this model type.
Version family_since(std::string_view model_type);

/// The first release of transformers for which this program records the family's forward pass.
Version family_exact_since(std::string_view model_type);

/// The class of a network's decoder layers in transformers, which FSDP makes units of: "LlamaDecoderLayer". Empty where
/// it is not known, or they are of several.
std::string decoder_layer_class(const ModelSpec& model);

/// The modules that adapters are put on where nobody says which: queries and values, or the layer that has both.
std::vector<std::string> default_targets(const ModelSpec& model);
/// The same of a kind of adapter; empty: peft asks for them.
std::vector<std::string> default_targets(const ModelSpec& model, AdapterKind kind);

/// Weights of the network as it is loaded, a tied head counted once. Throws Error (invalid) beyond 63 bits.
std::int64_t total_parameters(const ModelSpec& model);

/// Weights of one decoder layer.
std::int64_t layer_parameters(const ModelSpec& model);

}  // namespace vramfit
