// What a model family adds: its norm, its decoder layer, what happens to the logits. One file each in families/.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "model/layers/attention/attention.hpp"
#include "model/layers/inputs.hpp"
#include "model/layers/mlp.hpp"
#include "model/layers/rotary.hpp"

namespace vramfit::model {

struct Family;

/// Queries, keys and values -- [B, heads, S, D] each, before positions turn them.
struct Projected {
    Tensor q, k, v;
    Tensor whole;  ///< what they are views of, where the library has a name for it
};

/// The norm of queries or keys, whose weights' gradients tensor parallelism sums.
Tensor normalize_heads(const Run& run, const Family& family, const Norm& norm, const Tensor& heads);

/// q_proj, k_proj and v_proj; norms on the heads' vectors, where there are some, come before the transpose.
Projected separate_projections(const Run& run, const Family& family, const DecoderLayer& layer, const Tensor& hidden);

/// Who has which rotary embedding, by release. Those that keep frequencies have a buffer for them.
struct RotaryModules {
    bool decoder = true;       ///< one for all layers, which makes cos and sin once in a forward pass
    bool layers = false;       ///< each layer has one, and uses it where the decoder has none
    bool caches = false;       ///< the layers' have buffers of cos and sin for all positions,
    bool by_position = false;  ///< of which they take the positions' rows
    bool late = false;         ///< the layers' frequencies are made in the first forward pass
};

/// What the model's plan for tensor parallelism splits (transformers 5.17 configuration_*.py base_model_tp_plan and
/// modeling_*.py _tp_plan): the loader looks at it in any run of several processes.
enum class SplitPlan : std::uint8_t {
    none,
    head,
    projections,  ///< the layers' linear modules, norms of heads, and the head
    experts,      ///< and the experts' weights
};

/// base_model_tp_plan: how the linear modules of a layer are cut.
struct LayerCuts {
    Cut projections = Cut::columns;
    Cut output = Cut::rows;
    Cut up = Cut::columns;  ///< and gate, or both in one
    Cut down = Cut::rows;
    bool shared_table = true;  ///< configuration_utils.py: one that the head shares, if it is named embed_tokens
};

/// Methods that wrap or cut modules, which the family was compared with; all were with FSDP1.
struct ComparedWith {
    bool fsdp2 = true;
    bool context_parallelism = false;
    bool tensor_parallelism = false;
    bool pipeline = true;
};

/// One family of decoders.
struct Family {
    std::string_view model_type;
    bool rotary_before_norm = false;  ///< registered there in the decoder
    ComparedWith compared = {};
    /// The norm that all of its layers use.
    Tensor (*norm)(const Norm& norm, const Tensor& hidden);
    /// DecoderLayer.forward: hidden -- [B, S, H].
    Tensor (*layer)(const Run& run, const Family& family, const DecoderLayer& layer, const Tensor& hidden,
                    const LayerInputs& inputs);
    Projected (*project)(const Run& run, const Family& family, const DecoderLayer& layer,
                         const Tensor& hidden) = separate_projections;
    /// Turns queries and keys by their positions; null: positions are learned.
    void (*rotate)(Tensor& q, Tensor& k, const Rotary& rotary) = apply_rotary;
    /// The same where the attention itself takes heads apart: what has a name there lives until it returns.
    void (*rotate_parts)(Tensor& q, Tensor& k, const Rotary& rotary, std::vector<Tensor>& named) = nullptr;
    EagerAttention eager = eager_attention;
    Tensor (*mlp)(const Run& run, const DecoderLayer& layer, const Tensor& x) = gated_mlp;
    std::string_view embedding_dropout = {};  ///< a torch.nn.Dropout, by its name; empty: a function
    bool attention_drops = false;             ///< dropout behind the output projection, inside of the attention
    bool multiplies_embedding = false;        ///< the embedding times a number
    bool rotary_by_type = false;              ///< layers that slide have frequencies of their own
    bool float32_rotary = false;              ///< cos and sin are not cast to the hidden states' dtype
    bool looks_for_padding = false;           ///< the model asks whether rows without a mask hold padding
    bool counts_all_labels = false;           ///< Trainer does not know that the loss shifts them
    bool mask_is_positional = false;          ///< layers are called with the mask as a positional argument
    bool scales_embedding = false;            ///< the embedding times the root of the hidden size
    bool embedding_scales_itself = false;     ///< in all releases
    bool one_mask = false;                    ///< with a window there is no full mask
    bool norms_in_float32 = false;            ///< _keep_in_fp32_modules: where the network is loaded in float16
    bool masks_without_positions = false;     ///< no look for packed sequences
    bool half_tables = false;                 ///< rotary tables of half a head's width
    RotaryModules (*rotary_modules)(const Stack& stack) = [](const Stack&) { return RotaryModules{}; };
    bool converts_masks = false;             ///< releases before 4.42: masks of modeling_attn_mask_utils.py
    bool flash_repeats_heads = false;        ///< where attention is a class: others leave the groups to the kernel
    bool flash_reads_last_position = false;  ///< ... also where tables are not taken by position
    bool flash_knows_positions = true;       ///< ... and looks for packed rows
    bool adds_mask_in_place = false;         ///< eager, where attention is a class
    bool always_masks = false;  ///< additive masks whatever the kernel can do, and each sliding layer makes its own
    /// The window of additive masks.
    std::optional<Size> (*additive_window)(const Run& run) = [](const Run&) { return std::optional<Size>(); };
    SplitPlan split_plan = SplitPlan::projections;
    LayerCuts cuts = {};
    /// Between the head's result and the loss; may be null.
    Tensor (*shape_logits)(const Run& run, Tensor logits) = nullptr;
    bool tables_of_neighbours = false;     ///< rotary tables have each angle twice side by side
    bool masks_from_dictionary = false;    ///< the decoder keeps what masks are made of to its end (mask_kwargs)
    bool positions_before_tables = false;  ///< among the named arguments of its layers
};

/// Throws Error (unsupported) for a type without a file.
const Family& family_of(std::string_view model_type);

}  // namespace vramfit::model

namespace vramfit {

/// The table of families/, generated by CMake.
std::span<const model::Family* const> all_families();

}  // namespace vramfit
