// The family gpt_neox: transformers models/gpt_neox/modeling_gpt_neox.py.
#include "engine/ops/dropout.hpp"
#include "engine/ops/pointwise.hpp"
#include "engine/ops/split.hpp"
#include "engine/ops/view.hpp"
#include "model/layers/decoder_layer.hpp"
#include "model/network/called.hpp"
#include "model/network/modules.hpp"

namespace vramfit::families {

using namespace model;
using namespace engine;

namespace {

// GPTNeoXAttention.forward: each head's query, key and value side by side.
Projected chunk_heads(const Run& run, const Family&, const DecoderLayer& layer, const Tensor& hidden) {
    const Tensor projected = forward(layer.qkv, hidden);
    const Tensor qkv =
        transpose(view(projected, {projected.size(0), projected.size(1), -1, 3 * run.spec.head_dim}), 1, 2);
    const std::vector<Tensor> parts = chunk(qkv, 3, -1);
    return {parts[0], parts[1], parts[2], qkv};
}

// GPTNeoXLayer.forward.
Tensor gpt_neox_layer(const Run& run, const Family& family, const DecoderLayer& layer, const Tensor& input,
                      const LayerInputs& inputs) {
    auto [attended, weights] = self_attention(run, family, layer, family.norm(layer.input_norm, input), inputs);
    const auto dropped = [&run](const void* place, const Tensor& t) {
        return called(place, Part::dropout, t,
                      [&run](const Tensor& given) { return dropout(given, run.spec.residual_dropout); });
    };
    attended = dropped(&layer.attention_parameters, attended);
    if (run.spec.use_parallel_residual) {
        Tensor fed = family.mlp(run, layer, family.norm(layer.post_attention_norm, input));
        fed = dropped(&layer, fed);
        Tensor out = add(add(fed, attended), input);
        attended.reset();  // local variables go in the order of their names
        weights.reset();
        return out;
    }
    attended = add(attended, input);
    Tensor fed = family.mlp(run, layer, family.norm(layer.post_attention_norm, attended));
    fed = dropped(&layer, fed);
    Tensor out = add(fed, attended);
    attended.reset();
    weights.reset();
    return out;
}

}  // namespace

extern const Family gpt_neox_entry;
const Family gpt_neox_entry = {
    .model_type = "gpt_neox",
    .compared = {.context_parallelism = true, .tensor_parallelism = true, .pipeline = false},
    .norm = layer_norm,
    .layer = gpt_neox_layer,
    .project = chunk_heads,
    .rotate = apply_rotary_then_join,
    .mlp = plain_mlp,
    .embedding_dropout = "emb_dropout",
    .cuts = {.shared_table = false},
    .positions_before_tables = true,
};

}  // namespace vramfit::families
