// The modules of a network by their names in transformers, and which of them adapters are put on.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "vramfit/spec/model_spec.hpp"
#include "vramfit/spec/train_plan.hpp"

namespace vramfit {

enum class ModuleKind : std::uint8_t {
    linear,
    conv1d,  ///< transformers' Conv1D: a linear layer whose weight is stored transposed
    embedding,
    norm,
    bare,  ///< parameters of its own, not those of a linear layer: a router, the experts
    other
};

/// What a module does in its network, whatever its name.
enum class ModulePart : std::uint8_t {
    other,
    embedding,
    positions,  ///< learned positions
    query,
    key,
    value,
    query_key_value,  ///< all three in one layer
    output,
    query_norm,
    key_norm,
    gate,
    up,
    gate_up,  ///< both in one layer
    down,
    attention,  ///< parameters beside the projections
    router,
    experts,
    shared_gate,
    shared_up,
    shared_down,
    shared_expert_gate,
    input_norm,
    post_attention_norm,
    pre_feedforward_norm,
    post_feedforward_norm,
    final_norm,
    head
};

/// A parameter of a bare module.
struct BareParameter {
    std::string name;                      ///< "gate_up_proj"
    std::vector<std::int64_t> sizes;       ///< [E, 2I, H]
    std::vector<std::string> merged_from;  ///< the checkpoint has these for each expert: "w1.weight", "w3.weight"
    bool bias = false;
    bool transposed = false;  ///< a 3-D weight: [E, in, out] instead of [E, out, in]
};

/// One module as `named_modules()` gives it: "model.layers.3.self_attn.q_proj". A linear layer multiplies `in` by
/// `out`; an embedding has `in` rows of `out`, a norm `out` weights.
struct NamedModule {
    std::string name;
    ModuleKind kind = ModuleKind::other;
    int layer = -1;  ///< decoder layer, or -1
    std::int64_t in = 0;
    std::int64_t out = 0;
    ModulePart part = ModulePart::other;
    bool bias = false;
    std::vector<BareParameter> parameters = {};  ///< of a bare module
    std::string published = {};                  ///< its name in checkpoints; empty: the same
};

/// Weights of the module itself, without those of modules inside. Throws Error (invalid) beyond 63 bits.
std::int64_t parameters_in(const NamedModule& module);

/// A module that adapters can be put on: a linear layer or an embedding.
bool is_targetable(ModuleKind kind);

/// All modules, in order of `named_modules()`.
std::vector<NamedModule> modules_of(const ModelSpec& model);

/// A module that gets an adapter, with its rank and alpha.
struct LoraTarget {
    NamedModule module;
    std::int64_t r = 0;
    double alpha = 0;
    std::string parameter;      ///< of a bare module; empty: the module itself
    bool has_own_rank = false;  ///< from rank_pattern
};

/// The modules that peft puts adapters on, in order of `named_modules()`; may be empty. Throws Error (invalid) for
/// a pattern that is no regular expression.
std::vector<LoraTarget> lora_targets(const ModelSpec& model, const LoraPlan& plan);

/// The last parts of the names of all linear layers and embeddings: "q_proj", ..., "lm_head", "embed_tokens".
std::vector<std::string> targetable_names(const ModelSpec& model);

/// Words for several modules at once: "attention", "mlp", "embedding"; "all-linear" is attention and mlp.
bool is_module_group(std::string_view word);

/// The last parts of the names of a group's modules, in order of `named_modules()`; empty if the network has none.
std::vector<std::string> group_names(const ModelSpec& model, std::string_view group);

}  // namespace vramfit
