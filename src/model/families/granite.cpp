// The family granite: transformers models/granite/modeling_granite.py, Llama's layer with multipliers.
#include "engine/ops/pointwise.hpp"
#include "model/layers/decoder_layer.hpp"
#include "model/network/modules.hpp"

namespace vramfit::families {

using namespace model;
using namespace engine;

namespace {

/// residual + hidden_states * residual_multiplier.
Tensor scaled_sum(const Tensor& residual, const Tensor& hidden) { return add(residual, mul(hidden, 1.0)); }

// GraniteDecoderLayer.forward.
Tensor granite_layer(const Run& run, const Family& family, const DecoderLayer& layer, const Tensor& input,
                     const LayerInputs& inputs) {
    Tensor residual = input;
    Tensor hidden = family.norm(layer.input_norm, residual);
    auto [attended, weights] = self_attention(run, family, layer, hidden, inputs);
    hidden = std::move(attended);
    hidden = scaled_sum(residual, hidden);
    residual = hidden;
    hidden = family.norm(layer.post_attention_norm, hidden);
    hidden = family.mlp(run, layer, hidden);
    return scaled_sum(residual, hidden);
}

// GraniteForCausalLM.forward: logits / logits_scaling.
Tensor scale_logits(const Run&, Tensor logits) { return div(logits, 1.0); }

}  // namespace

extern const Family granite_entry;
const Family granite_entry = {
    .model_type = "granite",
    .compared = {.context_parallelism = true, .tensor_parallelism = true},
    .norm = llama_norm,
    .layer = granite_layer,
    .multiplies_embedding = true,
    .shape_logits = scale_logits,
    .positions_before_tables = true,
};

}  // namespace vramfit::families
