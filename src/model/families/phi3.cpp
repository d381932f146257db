// The family phi3: transformers models/phi3/modeling_phi3.py.
#include "engine/ops/dropout.hpp"
#include "engine/ops/pointwise.hpp"
#include "engine/ops/split.hpp"
#include "engine/ops/view.hpp"
#include "model/layers/decoder_layer.hpp"
#include "model/layers/liger.hpp"
#include "model/network/called.hpp"
#include "model/network/modules.hpp"

namespace vramfit::families {

using namespace model;
using namespace engine;

namespace {

// Phi3Attention.forward: qkv[..., :query_pos] and so on.
Projected cut_projections(const Run& run, const Family&, const DecoderLayer& layer, const Tensor& hidden) {
    const Tensor qkv = forward(layer.qkv, hidden);
    const Size D = run.spec.head_dim;
    const Size queries = run.spec.num_attention_heads * D;
    const Size keys = run.spec.num_key_value_heads * D;
    Tensor q = last_places(qkv, 0, queries);
    Tensor k = last_places(qkv, queries, queries + keys);
    Tensor v = last_places(qkv, queries + keys, queries + 2 * keys);
    for (Tensor* t : {&q, &k, &v}) *t = transpose(view(*t, {t->size(0), t->size(1), -1, D}), 1, 2);
    return {q, k, v, qkv};
}

// Phi3DecoderLayer.forward.
Tensor phi3_layer(const Run& run, const Family& family, const DecoderLayer& layer, const Tensor& input,
                  const LayerInputs& inputs) {
    Tensor residual = input;
    const NormFunction norm = norm_of_layers(run, family.norm);
    Tensor hidden = norm(layer.input_norm, residual);
    auto [attended, weights] = self_attention(run, family, layer, hidden, inputs);
    // Up to 4.47 the result has a name of its own, attn_outputs; hidden_states is what went in until the sum is there.
    const bool has_own_name = run.stack.attention_in_classes();
    if (!has_own_name) hidden.reset();
    const auto dropped = [&run](const void* place, const Tensor& t) {
        return called(place, Part::dropout, t,
                      [&run](const Tensor& given) { return dropout(given, run.spec.residual_dropout); });
    };
    hidden = add(residual, dropped(&layer.attention_parameters, attended));
    if (!has_own_name) attended.reset();
    residual = hidden;
    hidden = norm(layer.post_attention_norm, hidden);
    hidden = family.mlp(run, layer, hidden);
    return add(residual, dropped(&layer, hidden));
}

RotaryModules phi3_rotary(const Stack& stack) {
    return {.decoder = !stack.attention_in_classes(), .layers = stack.attention_in_classes()};
}

std::optional<Size> phi3_window(const Run& run) {
    return run.stack.masks_of_phi3_slide() ? run.spec.sliding_window : std::nullopt;
}

}  // namespace

extern const Family phi3_entry;
const Family phi3_entry = {
    .model_type = "phi3",
    .compared = {.context_parallelism = true, .tensor_parallelism = true},
    .norm = llama_norm,
    .layer = phi3_layer,
    .project = cut_projections,
    .rotate = apply_rotary_one_by_one,
    .mlp = fused_gated_mlp,
    .one_mask = true,
    .rotary_modules = phi3_rotary,
    .flash_repeats_heads = true,
    .flash_reads_last_position = true,
    .adds_mask_in_place = true,
    .additive_window = phi3_window,
    .cuts = {Cut::columns_gathered, Cut::rows_split, Cut::columns_gathered, Cut::rows_split},
    .positions_before_tables = true,
};

}  // namespace vramfit::families
