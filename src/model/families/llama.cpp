// Llama and the families whose decoder layer is the same: mistral, qwen2, and qwen3 with norms on q and k.
#include "model/families/llama.hpp"

#include "engine/ops/pointwise.hpp"
#include "engine/ops/view.hpp"
#include "model/attention.hpp"
#include "model/mlp.hpp"
#include "model/modules.hpp"
#include "model/rotary.hpp"

namespace vramfit::model {

using namespace engine;

namespace {

/// [B, S, heads * D] to [B, heads, S, D].
Tensor heads_first(const Run& run, const Tensor& t) {
    return transpose(view(t, {t.size(0), t.size(1), -1, run.spec.head_dim}), 1, 2);
}

/// qwen3: the norm runs over each head's vector, before the transpose.
Tensor normed_heads_first(const Run& run, const Norm& norm, const Tensor& t) {
    const Tensor heads = view(t, {t.size(0), t.size(1), -1, run.spec.head_dim});
    return transpose(llama_norm(norm, heads), 1, 2);
}

}  // namespace

// transformers 5.17 models/llama/modeling_llama.py LlamaAttention.forward (qwen3: Qwen3Attention.forward).
Tensor llama_attention(const Run& run, const DecoderLayer& layer, const Tensor& hidden, const LayerInputs& inputs) {
    Tensor q = forward(layer.q, hidden);
    q = layer.q_norm ? normed_heads_first(run, *layer.q_norm, q) : heads_first(run, q);
    Tensor k = forward(layer.k, hidden);
    k = layer.k_norm ? normed_heads_first(run, *layer.k_norm, k) : heads_first(run, k);
    const Tensor v = heads_first(run, forward(layer.v, hidden));
    apply_rotary(q, k, inputs.rotary);
    const Tensor& mask = layer.attention == LayerAttention::sliding ? inputs.masks.sliding : inputs.masks.full;
    Tensor out = attend(run, q, k, v, mask);
    out = reshape(out, {out.size(0), out.size(1), -1});
    return forward(layer.o, out);
}

// LlamaDecoderLayer.forward.
Tensor llama_layer(const Run& run, const DecoderLayer& layer, const Tensor& input, const LayerInputs& inputs) {
    Tensor residual = input;
    Tensor hidden = llama_norm(layer.input_norm, residual);
    hidden = llama_attention(run, layer, hidden, inputs);
    hidden = add(residual, hidden);
    residual = hidden;
    hidden = llama_norm(layer.post_attention_norm, hidden);
    hidden = gated_mlp(run, layer, hidden);
    return add(residual, hidden);
}

}  // namespace vramfit::model
