// Llama's attention and decoder layer, and Gemma 2's layer with four norms.
#include "model/layers/decoder_layer.hpp"

#include <utility>
#include <vector>

#include "engine/checkpoint.hpp"
#include "engine/ops/dropout.hpp"
#include "engine/ops/pointwise.hpp"
#include "engine/ops/view.hpp"
#include "model/layers/attention/attention_4_40.hpp"
#include "model/layers/attention/prompted_attention.hpp"
#include "model/layers/experts.hpp"
#include "model/layers/liger.hpp"
#include "model/network/called.hpp"
#include "model/network/modules.hpp"
#include "model/parallel/tensor/tensor_parallel.hpp"

namespace vramfit::model {

using namespace engine;

Tensor normalize_heads(const Run& run, const Family& family, const Norm& norm, const Tensor& heads) {
    const NormFunction of_heads = norm_of_heads(run, family.norm);
    const auto normalize = [&](const Tensor& given) { return of_heads(norm, given); };
    return norm.sums_gradients ? with_full_backward_hook(heads, normalize) : normalize(heads);
}

namespace {

/// [B, S, heads * D] to [B, heads, S, D]; a norm on each head's vector comes before the transpose (Qwen3Attention).
Tensor heads_first(const Run& run, const Family& family, const Norm* norm, const Tensor& t) {
    Tensor heads = view(t, {t.size(0), t.size(1), -1, run.spec.head_dim});
    if (norm && norm->width > 0) heads = normalize_heads(run, family, *norm, heads);
    return transpose(heads, 1, 2);
}

}  // namespace

Projected separate_projections(const Run& run, const Family& family, const DecoderLayer& layer, const Tensor& hidden) {
    const Tensor q = heads_first(run, family, &layer.q_norm, forward(layer.q, hidden));
    const Tensor k = heads_first(run, family, &layer.k_norm, forward(layer.k, hidden));
    const Tensor v = heads_first(run, family, nullptr, forward(layer.v, hidden));
    return {q, k, v, {}};
}

namespace {

Attended attention_forward(const Run& run, const Family& family, const DecoderLayer& layer, const Tensor& hidden,
                           const LayerInputs& inputs) {
    auto [q, k, v, whole] = family.project(run, family, layer, hidden);
    const bool slides = layer.attention == LayerAttention::sliding;
    std::vector<Tensor> named;
    const Rotary& rotary = family.rotary_by_type && slides ? inputs.sliding_rotary : inputs.rotary;
    if (turns_by_liger(run) && layer.turns)
        liger_rope(q, k, rotary);
    else if (family.rotate_parts)
        family.rotate_parts(q, k, inputs.rotary, named);
    else if (family.rotate && layer.turns)
        family.rotate(q, k, rotary);
    if (inputs.cache && run.stack.cache_starts_from_empty())
        inputs.cache->update(layer, run.spec.sliding_window, k, v);
    else if (inputs.cache)
        inputs.cache->keep(layer, k, v);
    const bool in_window = slides && run.stack.masks_are_boolean();
    const Tensor& mask = in_window ? inputs.masks.sliding : inputs.masks.full;
    const Size seen = in_window ? inputs.masks.seen_sliding : inputs.masks.seen_full;
    auto [out, weights] = attend(run, family.eager, q, k, v, {mask, seen}, inputs.position_ids);
    out = reshape(out, {out.size(0), out.size(1), -1});
    out = forward(layer.o, out);
    const auto dropped = [&run](const Tensor& given) { return dropout(given, run.spec.residual_dropout); };
    if (family.attention_drops && !family.embedding_dropout.empty())  // GPT2Attention.resid_dropout
        out = called(&layer.attention_parameters, Part::dropout, out, dropped);
    else if (family.attention_drops)
        out = dropped(out);
    for (Tensor* local : {&whole, &q, &k, &v}) local->reset();  // Python's local variables go in their order
    return {out, weights};
}

}  // namespace

// transformers 5.17 models/llama/modeling_llama.py LlamaAttention.forward; models/qwen3/modeling_qwen3.py,
// models/gemma2/... Its arguments have names.
Attended self_attention(const Run& run, const Family& family, const DecoderLayer& layer, const Tensor& hidden,
                        const LayerInputs& inputs) {
    const auto attend_all = [&]() -> Attended {
        if (run.stack.attention_in_classes()) return {self_attention_4_40(run, family, layer, hidden, inputs), {}};
        Attended attended = attention_forward(run, family, layer, hidden, inputs);
        if (layer.prompted)
            attended.output = with_adaption_prompt(run, layer, hidden, inputs, std::move(attended.output));
        return attended;
    };
    const InModule scope(run.session, parent_of(layer.o.name));
    ModuleHooks* const hooks = run.session.module_hooks;
    if (!hooks) return attend_all();
    hooks->before(key_of(&layer, Part::attention), {});
    Attended attended = attend_all();
    attended.output = hooks->after(key_of(&layer, Part::attention), attended.output);
    return attended;
}

namespace {

/// A module of a layer that is called with `input`, and may be a checkpointed unit of its own.
template <class Forward>
Tensor part_of(const DecoderLayer& layer, const Tensor& input, const Forward& forward) {
    if (!layer.checkpoints_parts) return forward(input);
    return checkpoint_non_reentrant([forward](std::span<const Tensor> given) { return forward(given[0]); }, {input});
}

/// The same of its attention, whose arguments have names: the unit keeps them. Its second output lives as long as the
/// call of the layer, and is nobody's when the unit alone is computed again.
Attended attention_of(const Run& run, const Family& family, const DecoderLayer& layer, const Tensor& hidden,
                      const LayerInputs& inputs) {
    if (!layer.checkpoints_parts) return self_attention(run, family, layer, hidden, inputs);
    const auto attend = [&run, &family, &layer, hidden, inputs](std::span<const Tensor>) {
        Attended attended = self_attention(run, family, layer, hidden, inputs);
        return std::vector<Tensor>{std::move(attended.output), std::move(attended.weights)};
    };
    std::vector<Tensor> results = checkpoint_non_reentrant(run.session, attend, {});
    return {std::move(results[0]), std::move(results[1])};
}

}  // namespace

// models/llama/modeling_llama.py LlamaDecoderLayer.forward; the same in mistral, qwen2, qwen3 and gemma.
Tensor pre_norm_layer(const Run& run, const Family& family, const DecoderLayer& layer, const Tensor& input,
                      const LayerInputs& inputs) {
    Tensor residual = input;
    const NormFunction norm = norm_of_layers(run, family.norm);
    Tensor hidden = part_of(layer, residual, [&layer, norm](const Tensor& x) { return norm(layer.input_norm, x); });
    Attended attended = attention_of(run, family, layer, hidden, inputs);
    hidden = std::move(attended.output);
    hidden = add(residual, hidden);
    residual = hidden;
    hidden = part_of(layer, hidden, [&layer, norm](const Tensor& x) { return norm(layer.post_attention_norm, x); });
    hidden = part_of(layer, hidden, [&run, &family, &layer](const Tensor& x) {
        return layer.experts.tensors.empty() ? family.mlp(run, layer, x) : sparse_mlp(run, layer, x);
    });
    return add(residual, hidden);
}

namespace {

/// Up to 4.52 a layer that slides covers what lies before its window in a mask of its own.
LayerInputs with_own_mask(const Run& run, const DecoderLayer& layer, const LayerInputs& shared, Tensor& outside) {
    LayerInputs inputs = shared;
    if (run.stack.masks_are_boolean() || layer.attention != LayerAttention::sliding || !shared.masks.full.defined())
        return inputs;
    const Tensor& mask = shared.masks.full;
    {
        const Tensor ones = empty(run.session, mask.sizes(), DType::boolean, Op::ones_like);
        outside = pointwise_result(ones, DType::boolean, Op::tril);
    }
    const Tensor smallest = empty(run.session, {}, mask.dtype(), Op::scalar_tensor);
    inputs.masks.full = where(outside, smallest, mask);
    return inputs;
}

}  // namespace

// models/gemma2/modeling_gemma2.py Gemma2DecoderLayer.forward.
Tensor four_norm_layer(const Run& run, const Family& family, const DecoderLayer& layer, const Tensor& input,
                       const LayerInputs& shared) {
    Tensor outside;
    const LayerInputs inputs = with_own_mask(run, layer, shared, outside);
    const NormFunction norm = norm_of_layers(run, family.norm);
    Tensor residual = input;
    Tensor hidden = norm(layer.input_norm, residual);
    auto [attended, weights] = self_attention(run, family, layer, hidden, inputs);
    hidden = std::move(attended);
    hidden = norm(layer.post_attention_norm, hidden);
    hidden = add(residual, hidden);
    residual = hidden;
    hidden = norm(layer.pre_feedforward_norm, hidden);
    hidden = family.mlp(run, layer, hidden);
    hidden = norm(layer.post_feedforward_norm, hidden);
    return add(residual, hidden);
}

// transformers 5.17 models/cohere/modeling_cohere.py CohereDecoderLayer.forward; models/cohere2/modeling_cohere2.py.
Tensor side_by_side_layer(const Run& run, const Family& family, const DecoderLayer& layer, const Tensor& input,
                          const LayerInputs& inputs) {
    Tensor hidden = family.norm(layer.input_norm, input);
    auto [attended, weights] = self_attention(run, family, layer, hidden, inputs);
    const Tensor fed = family.mlp(run, layer, hidden);
    Tensor out = add(add(input, attended), fed);
    for (Tensor* local : {&hidden, &attended, &weights}) local->reset();  // in the order of their names
    return out;
}

// models/cohere/modeling_cohere.py CohereForCausalLM.forward: logits * logit_scale.
Tensor scale_logits(const Run&, Tensor logits) { return mul(logits, 0.0625); }

// models/gemma2/modeling_gemma2.py Gemma2ForCausalLM.forward.
Tensor cap_logits(const Run& run, Tensor logits) {
    if (!run.spec.final_logit_softcapping) return logits;
    logits = div(logits, *run.spec.final_logit_softcapping);
    logits = tanh(logits);
    return mul(logits, *run.spec.final_logit_softcapping);
}

}  // namespace vramfit::model
