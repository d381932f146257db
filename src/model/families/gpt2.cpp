// The family gpt2: transformers models/gpt2/modeling_gpt2.py.
#include "engine/ops/copy.hpp"
#include "engine/ops/dropout.hpp"
#include "engine/ops/matmul.hpp"
#include "engine/ops/pointwise.hpp"
#include "engine/ops/softmax.hpp"
#include "engine/ops/split.hpp"
#include "engine/ops/view.hpp"
#include "model/layers/decoder_layer.hpp"
#include "model/network/modules.hpp"

namespace vramfit::families {

using namespace model;
using namespace engine;

namespace {

// GPT2Attention.forward: self.c_attn(hidden_states).split(self.split_size, dim=2).
Projected split_projections(const Run& run, const Family&, const DecoderLayer& layer, const Tensor& hidden) {
    std::vector<Tensor> parts = chunk(forward(layer.qkv, hidden), 3, 2);
    const auto heads = [&](const Tensor& t) {
        return transpose(view(t, {t.size(0), t.size(1), -1, run.spec.head_dim}), 1, 2);
    };
    const Tensor k = heads(parts[1]);
    const Tensor v = heads(parts[2]);
    const Tensor q = heads(parts[0]);
    return {q, k, v, {}};
}

// eager_attention_forward: the softmax's dtype is autocast's affair, the result is not made contiguous.
Attended gpt2_eager(const Run& run, const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& mask) {
    Tensor weights = matmul(q, transpose(k, -1, -2));
    weights = mul(weights, 1.0);
    if (mask.defined()) weights = add(weights, mask);
    weights = softmax(weights, false);
    weights = to(weights, v.dtype());
    weights = dropout(weights, run.spec.attention_dropout);
    const Tensor out = matmul(weights, v);
    return {transpose(out, 1, 2), weights};
}

// GPT2Block.forward: what attention and MLP gave keeps its name to the end.
Tensor gpt2_layer(const Run& run, const Family& family, const DecoderLayer& layer, const Tensor& input,
                  const LayerInputs& inputs) {
    Tensor residual = input;
    Tensor hidden = family.norm(layer.input_norm, residual);
    auto [attended, weights] = self_attention(run, family, layer, hidden, inputs);
    hidden = add(attended, residual);
    residual = hidden;
    hidden = family.norm(layer.post_attention_norm, hidden);
    const Tensor fed = family.mlp(run, layer, hidden);
    Tensor out = add(residual, fed);
    for (Tensor* local : {&hidden, &residual, &attended, &weights}) local->reset();  // in the order of their names
    return out;
}

}  // namespace

extern const Family gpt2_entry;
const Family gpt2_entry = {
    .model_type = "gpt2",
    .compared = {.context_parallelism = true, .tensor_parallelism = true, .pipeline = false},
    .norm = layer_norm,
    .layer = gpt2_layer,
    .project = split_projections,
    .rotate = nullptr,
    .eager = gpt2_eager,
    .mlp = dropped_mlp,
    .embedding_dropout = "drop",
    .attention_drops = true,
    .looks_for_padding = true,
    // transformers 5.17 trainer.py _loss_shifts_labels: GPT2LMHeadModel's name says nothing of its loss.
    .counts_all_labels = true,
    .mask_is_positional = true,
    .split_plan = SplitPlan::none,
};

}  // namespace vramfit::families
