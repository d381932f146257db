// The family olmo2: transformers models/olmo2/modeling_olmo2.py.
#include "engine/ops/pointwise.hpp"
#include "engine/ops/view.hpp"
#include "model/layers/decoder_layer.hpp"
#include "model/layers/liger.hpp"
#include "model/network/modules.hpp"

namespace vramfit::families {

using namespace model;
using namespace engine;

namespace {

// Olmo2Attention.forward: norms on all queries and all keys, before they are cut into heads.
Projected normed_projections(const Run& run, const Family& family, const DecoderLayer& layer, const Tensor& hidden) {
    Tensor q = family.norm(layer.q_norm, forward(layer.q, hidden));
    Tensor k = family.norm(layer.k_norm, forward(layer.k, hidden));
    Tensor v = forward(layer.v, hidden);
    for (Tensor* t : {&q, &k, &v}) *t = transpose(view(*t, {t->size(0), t->size(1), -1, run.spec.head_dim}), 1, 2);
    return {q, k, v, {}};
}

// Olmo2DecoderLayer.forward: norms behind attention and MLP only.
Tensor post_norm_layer(const Run& run, const Family& family, const DecoderLayer& layer, const Tensor& input,
                       const LayerInputs& inputs) {
    const NormFunction norm = norm_of_layers(run, family.norm);
    Tensor residual = input;
    auto [hidden, weights] = self_attention(run, family, layer, residual, inputs);
    hidden = norm(layer.post_attention_norm, hidden);
    hidden = add(residual, hidden);
    residual = hidden;
    hidden = family.mlp(run, layer, hidden);
    hidden = norm(layer.post_feedforward_norm, hidden);
    return add(residual, hidden);
}

}  // namespace

extern const Family olmo2_entry;
const Family olmo2_entry = {
    .model_type = "olmo2",
    .compared = {.fsdp2 = false, .tensor_parallelism = true},
    .norm = olmo2_norm,
    .layer = post_norm_layer,
    .project = normed_projections,
    .rotate = apply_rotary_and_cast,
    .float32_rotary = true,
    .cuts = {.projections = Cut::columns_gathered, .output = Cut::rows_split},
};

}  // namespace vramfit::families
