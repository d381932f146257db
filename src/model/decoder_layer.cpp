// Llama's attention and decoder layer, and Gemma 2's layer with four norms.
#include "model/decoder_layer.hpp"

#include "engine/ops/pointwise.hpp"
#include "engine/ops/view.hpp"
#include "model/attention.hpp"
#include "model/decoder_4_40.hpp"
#include "model/liger.hpp"
#include "model/mlp.hpp"
#include "model/modules.hpp"
#include "model/rotary.hpp"

namespace vramfit::model {

using namespace engine;

namespace {

/// [B, S, heads * D] to [B, heads, S, D]; a norm on each head's vector comes before the transpose (Qwen3Attention).
Tensor heads_first(const Run& run, const Family& family, const Norm* norm, const Tensor& t) {
    Tensor heads = view(t, {t.size(0), t.size(1), -1, run.spec.head_dim});
    if (norm && norm->width > 0) heads = family.norm(*norm, heads);
    return transpose(heads, 1, 2);
}

}  // namespace

// transformers 5.17 models/llama/modeling_llama.py LlamaAttention.forward; models/qwen3/modeling_qwen3.py,
// models/gemma2/...
Attended self_attention(const Run& run, const Family& family, const DecoderLayer& layer, const Tensor& hidden,
                        const LayerInputs& inputs) {
    if (run.stack.layers_make_rotary_tables()) return {self_attention_4_40(run, family, layer, hidden, inputs), {}};
    Tensor q = heads_first(run, family, &layer.q_norm, forward(layer.q, hidden));
    Tensor k = heads_first(run, family, &layer.k_norm, forward(layer.k, hidden));
    Tensor v = heads_first(run, family, nullptr, forward(layer.v, hidden));
    if (uses_liger(run))
        liger_rope(q, k, inputs.rotary);
    else
        apply_rotary(q, k, inputs.rotary);
    if (inputs.cache) inputs.cache->update(layer, run.spec.sliding_window, k, v);
    const Tensor& mask = layer.attention == LayerAttention::sliding ? inputs.masks.sliding : inputs.masks.full;
    auto [out, weights] = attend(run, q, k, v, mask, inputs.position_ids);
    out = reshape(out, {out.size(0), out.size(1), -1});
    return {forward(layer.o, out), weights};
}

// models/llama/modeling_llama.py LlamaDecoderLayer.forward; the same in mistral, qwen2, qwen3 and gemma.
Tensor pre_norm_layer(const Run& run, const Family& family, const DecoderLayer& layer, const Tensor& input,
                      const LayerInputs& inputs) {
    Tensor residual = input;
    const auto norm = uses_liger(run) ? liger_rms_norm : family.norm;
    Tensor hidden = norm(layer.input_norm, residual);
    auto [attended, weights] = self_attention(run, family, layer, hidden, inputs);
    hidden = std::move(attended);
    hidden = add(residual, hidden);
    residual = hidden;
    hidden = norm(layer.post_attention_norm, hidden);
    hidden = mlp(run, layer, hidden);
    return add(residual, hidden);
}

// models/gemma2/modeling_gemma2.py Gemma2DecoderLayer.forward.
Tensor four_norm_layer(const Run& run, const Family& family, const DecoderLayer& layer, const Tensor& input,
                       const LayerInputs& inputs) {
    Tensor residual = input;
    Tensor hidden = family.norm(layer.input_norm, residual);
    auto [attended, weights] = self_attention(run, family, layer, hidden, inputs);
    hidden = std::move(attended);
    hidden = family.norm(layer.post_attention_norm, hidden);
    hidden = add(residual, hidden);
    residual = hidden;
    hidden = family.norm(layer.pre_feedforward_norm, hidden);
    hidden = gated_mlp(run, layer, hidden);
    hidden = family.norm(layer.post_feedforward_norm, hidden);
    return add(residual, hidden);
}

}  // namespace vramfit::model
