// The family gpt_oss: transformers 5.17 models/gpt_oss/modeling_gpt_oss.py.
#include "engine/ops/clamp.hpp"
#include "engine/ops/copy.hpp"
#include "engine/ops/dropout.hpp"
#include "engine/ops/index.hpp"
#include "engine/ops/matmul.hpp"
#include "engine/ops/pointwise.hpp"
#include "engine/ops/reduce.hpp"
#include "engine/ops/softmax.hpp"
#include "engine/ops/view.hpp"
#include "model/adapters/param_wrapper.hpp"
#include "model/layers/attention/attention.hpp"
#include "model/layers/experts.hpp"
#include "model/layers/family.hpp"
#include "model/layers/rotary.hpp"
#include "model/network/called.hpp"
#include "model/network/modules.hpp"

namespace vramfit::families {

using namespace model;
using namespace engine;

namespace {

// _apply_rotary_emb: both halves turned apart.
Tensor turned(const Tensor& x, const Tensor& cos, const Tensor& sin) {
    const std::pair<Tensor, Tensor> both = halves(x);  // lambdas cannot capture bindings before clang 16
    const auto& first_half = both.first;
    const auto& second_half = both.second;
    // Python lets go of an operator's left operand first.
    const auto minus = [&] {
        Tensor straight = mul(first_half, cos);
        const Tensor other = mul(second_half, sin);
        Tensor out = sub(straight, other);
        straight.reset();
        return out;
    };
    const auto plus = [&] {
        Tensor straight = mul(second_half, cos);
        const Tensor other = mul(first_half, sin);
        Tensor out = add(straight, other);
        straight.reset();
        return out;
    };
    Tensor parts[2];
    parts[0] = minus();
    parts[1] = plus();
    Tensor out = cat(parts, -1);
    parts[0].reset();
    return out;
}

// eager_attention_forward: each head's sink is one more column of the scores.
Attended attention_with_sinks(const Run& run, const DecoderLayer& layer, const Tensor& q, const Tensor& k,
                              const Tensor& v, const Tensor& mask) {
    const Size groups = q.size(1) / k.size(1);
    Tensor keys = repeat_kv(k, groups);
    Tensor values = repeat_kv(v, groups);
    Tensor weights = matmul(q, transpose(keys, 2, 3));
    weights = mul(weights, 1.0);
    if (mask.defined()) weights = add(weights, mask);
    const Tensor sinks =
        expand(reshape(layer.attention_parameters[0], {1, -1, 1, 1}), {q.size(0), q.size(1), q.size(2), 1});
    Tensor combined = [&] {
        const Tensor parts[2] = {weights, sinks};
        return cat(parts, -1);
    }();
    Tensor clamped;
    {
        const Tensor largest = max_last(combined).values;
        clamped = sub(combined, largest);
    }
    combined = std::move(clamped);
    const Tensor probabilities = softmax_in_own_dtype(combined);
    const Tensor scores = slice(probabilities, -1, 0, probabilities.size(-1) - 1);
    weights = to(dropout(scores, run.spec.attention_dropout), values.dtype());
    Tensor out = matmul(weights, values);
    out = contiguous(transpose(out, 1, 2));
    keys.reset();  // Python's local variables go in their order
    values.reset();
    combined.reset();
    return {out, weights};
}

// GptOssAttention.forward.
Attended sink_attention(const Run& run, const DecoderLayer& layer, const Tensor& hidden, const LayerInputs& inputs) {
    const Dims heads{hidden.size(0), hidden.size(1), -1, run.spec.head_dim};
    Tensor q = transpose(view(forward(layer.q, hidden), heads), 1, 2);
    Tensor k = transpose(view(forward(layer.k, hidden), heads), 1, 2);
    Tensor v = transpose(view(forward(layer.v, hidden), heads), 1, 2);
    apply_rotary(q, k, inputs.rotary, turned);
    if (inputs.cache) inputs.cache->update(layer, run.spec.sliding_window, k, v);
    const Tensor& mask = layer.attention == LayerAttention::sliding ? inputs.masks.sliding : inputs.masks.full;
    auto [out, weights] = attention_with_sinks(run, layer, q, k, v, mask);
    out = reshape(out, {out.size(0), out.size(1), -1});
    out = forward(layer.o, out);
    for (Tensor* local : {&q, &k, &v}) local->reset();  // Python's local variables go in their order
    return {out, weights};
}

Attended attend_with_sinks(const Run& run, const DecoderLayer& layer, const Tensor& hidden, const LayerInputs& inputs) {
    ModuleHooks* const hooks = run.session.module_hooks;
    if (hooks) hooks->before(key_of(&layer, Part::attention), {});
    Attended attended = sink_attention(run, layer, hidden, inputs);
    if (hooks) attended.output = hooks->after(key_of(&layer, Part::attention), attended.output);
    return attended;
}

// GptOssTopKRouter.forward.
Routed routed_tokens(const Run& run, const DecoderLayer& layer, const Tensor& hidden) {
    const FoldedParameter weight(layer.router, 0);
    const Tensor folded = weight.value();
    const Tensor logits = functional_linear(hidden, folded, layer.router[1]);
    if (run.routers) run.routers->add(logits, run.spec.mixture->num_experts_per_tok);
    const auto [values, experts] = topk(logits, run.spec.mixture->num_experts_per_tok);
    return {logits, softmax_in_own_dtype(values), experts};
}

Routed route_gpt_oss(const Run& run, const DecoderLayer& layer, const Tensor& hidden) {
    ModuleHooks* const hooks = run.session.module_hooks;
    if (!hooks) return routed_tokens(run, layer, hidden);
    const ModuleKey key = key_of(&layer.router, Part::itself);
    Routed routed = routed_tokens(run, layer, hooks->before(key, hidden));
    Tensor* const outputs[] = {&routed.logits, &routed.weights};
    hooks->after_all(key, outputs);
    return routed;
}

// GptOssExperts._apply_gate: gate and up alternate.
Tensor clamped_gate(const Run&, const Tensor& gate_up) {
    Tensor gate = slice_step(gate_up, 0, 2);
    Tensor up = slice_step(gate_up, 1, 2);
    gate = clamp_above(gate);
    up = clamp_both(up);
    const Tensor glu = [&] {
        const Tensor open = sigmoid(mul(gate, 1.702));
        return mul(gate, open);
    }();
    Tensor out = mul(add(up, 1), glu);
    gate.reset();  // Python's local variables go in their order
    up.reset();
    return out;
}

/// GptOssMLP.forward: the layer holds the router's scores to its end.
struct Mixed {
    Tensor hidden;
    Tensor scores;
};

Tensor experts_of(const Run& run, const DecoderLayer& layer, const Tensor& hidden, const Routed& routed) {
    const ExpertWeights weights{&layer.experts, 0, 2, 1, 3, true};
    ModuleHooks* const hooks = run.session.module_hooks;
    if (!hooks) return grouped_experts(run, weights, clamped_gate, hidden, routed);
    const ModuleKey key = key_of(&layer.experts, Part::itself);
    Tensor given = hidden;
    Routed chosen = routed;
    Tensor* const inputs[] = {&given, &chosen.weights};
    hooks->before_all(key, inputs);
    return hooks->after(key, grouped_experts(run, weights, clamped_gate, given, chosen));
}

Mixed mixed(const Run& run, const DecoderLayer& layer, const Tensor& x) {
    const Tensor hidden = reshape(x, {-1, x.size(-1)});
    Routed routed = route_gpt_oss(run, layer, hidden);
    const Tensor out = experts_of(run, layer, hidden, routed);
    Mixed both{reshape(out, x.sizes()), routed.weights};
    routed.logits.reset();  // Python's local variables go in their order
    return both;
}

Mixed gpt_oss_mlp(const Run& run, const DecoderLayer& layer, const Tensor& x) {
    ModuleHooks* const hooks = run.session.module_hooks;
    if (!hooks) return mixed(run, layer, x);
    const ModuleKey key = key_of(&layer, Part::mlp);
    Mixed out = mixed(run, layer, hooks->before(key, x));
    Tensor* const outputs[] = {&out.hidden, &out.scores};
    hooks->after_all(key, outputs);
    return out;
}

// GptOssDecoderLayer.forward.
Tensor gpt_oss_layer(const Run& run, const Family& family, const DecoderLayer& layer, const Tensor& input,
                     const LayerInputs& inputs) {
    Tensor residual = input;
    Tensor hidden = family.norm(layer.input_norm, residual);
    auto [attended, second] = attend_with_sinks(run, layer, hidden, inputs);
    hidden = std::move(attended);
    hidden = add(residual, hidden);
    residual = hidden;
    hidden = family.norm(layer.post_attention_norm, hidden);
    Mixed mixed = gpt_oss_mlp(run, layer, hidden);
    hidden = std::move(mixed.hidden);
    second = std::move(mixed.scores);
    Tensor out = add(residual, hidden);
    hidden.reset();  // Python's local variables go in their order
    residual.reset();
    return out;
}

}  // namespace

extern const Family gpt_oss_entry;
const Family gpt_oss_entry = {
    .model_type = "gpt_oss",
    .compared = {.tensor_parallelism = true},
    .norm = olmo2_norm,
    .layer = gpt_oss_layer,
    .norms_in_float32 = true,
    .masks_without_positions = true,
    .half_tables = true,
    .split_plan = SplitPlan::head,
    .cuts = {Cut::none, Cut::none, Cut::none, Cut::none, false},
    .masks_from_dictionary = true,
};

}  // namespace vramfit::families
