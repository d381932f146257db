// transformers 5.17 integrations/moe.py grouped_mm_experts_forward; models/{mixtral,qwen2_moe,qwen3_moe}/modeling_*.py.
#include "model/layers/experts.hpp"

#include "engine/ops/clamp.hpp"
#include "engine/ops/copy.hpp"
#include "engine/ops/in_place.hpp"
#include "engine/ops/index.hpp"
#include "engine/ops/matmul.hpp"
#include "engine/ops/pointwise.hpp"
#include "engine/ops/softmax.hpp"
#include "engine/ops/sum.hpp"
#include "engine/ops/view.hpp"
#include "model/adapters/param_wrapper.hpp"
#include "model/layers/grouped_linear.hpp"
#include "model/layers/mlp.hpp"
#include "model/network/called.hpp"
#include "model/network/modules.hpp"
#include "model/parallel/tensor/tensor_parallel.hpp"

namespace vramfit::model {

using namespace engine;

namespace {

/// _default_apply_gate.
Tensor activated_gate(const Run& run, const Tensor& gate_up) {
    const auto [gate, up] = halves(gate_up);
    const Tensor activated = activate(run.spec, gate);
    return mul(activated, up);
}

/// MixtralTopKRouter.forward, Qwen3MoeTopKRouter.forward.
Routed route(const Run& run, const DecoderLayer& layer, const Tensor& x) {
    const MixtureSpec& mixture = *run.spec.mixture;
    const bool mixtral = run.spec.model_type == "mixtral";
    const Tensor hidden = reshape(x, {-1, run.spec.hidden_size});
    const FoldedParameter weight(layer.router, 0);
    const Tensor folded = weight.value();
    const Tensor logits = functional_linear(hidden, folded, {});
    if (run.routers) run.routers->add(logits, mixture.num_experts_per_tok);
    const Tensor probabilities = mixtral ? softmax(to(logits, DType::float32), false) : softmax(logits, true);
    auto [weights, experts] = topk(probabilities, mixture.num_experts_per_tok);
    if (mixture.norm_topk_prob) div_in_place(weights, sum_over(weights, -1, true));
    if (!mixtral) weights = to(weights, logits.dtype());
    return {logits, weights, experts};
}

/// Qwen2MoeMLP of the shared expert.
Tensor shared_expert(const Run& run, const DecoderLayer& layer, const Tensor& x) {
    Tensor product = forward(layer.shared_gate, x);
    product = activate(run.spec, product);
    {
        const Tensor up = forward(layer.shared_up, x);
        product = mul(product, up);
    }
    return forward(layer.shared_down, product);
}

}  // namespace

Tensor grouped_experts(const Run& run, const ExpertWeights& w, ApplyGate gate, const Tensor& hidden,
                       const Routed& routed) {
    if (run.stack.experts_are_ordered_by_argsort()) return grouped_experts_5_6(run, w, gate, hidden, routed);
    const Size tokens = hidden.size(0), width = hidden.size(1), top_k = routed.experts.size(-1);
    // The wrapper of the last parameter is the outermost. Sums are kept to the end (parametrize.cached).
    const FoldedParameter down(*w.module, w.down);
    const FoldedParameter gate_up(*w.module, w.gate_up);
    const Tensor sample_weights = reshape(routed.weights, {-1});
    const Tensor expert_ids = reshape(routed.experts, {-1});
    auto [expert_ids_g, perm] = sort(expert_ids);
    Tensor selected = index_rows(hidden, pointwise_result(perm, DType::int64, Op::floor_divide));
    Tensor sample_weights_g = index_rows(sample_weights, perm);
    Tensor histc_input = to(expert_ids_g, DType::int32);
    Tensor tokens_per_expert = histc(histc_input, run.spec.mixture->num_experts);
    Tensor offsets = cumsum_row(tokens_per_expert);
    const Stack& stack = run.stack;
    Tensor sentinel;
    if (stack.experts_always_mask()) sentinel = unsqueeze(compare(Op::ge, expert_ids_g), -1);
    const Tensor gate_up_weight = gate_up.value();
    Tensor biases = biases_of(w, w.gate_up_bias, expert_ids_g);
    if (sentinel.defined()) masked_fill_in_place(selected, sentinel);
    Tensor proj_out = grouped_linear(selected, gate_up_weight, offsets, biases, w.is_transposed);
    const bool masks_products = sentinel.defined() && stack.experts_mask_each_product();
    if (masks_products) proj_out = masked_fill(proj_out, sentinel);
    proj_out = gate(run, proj_out);
    const Tensor down_weight = down.value();
    biases = biases_of(w, w.down_bias, expert_ids_g);
    proj_out = grouped_linear(proj_out, down_weight, offsets, biases, w.is_transposed);
    if (masks_products) proj_out = masked_fill(proj_out, sentinel);
    Tensor weighted = mul(proj_out, unsqueeze(sample_weights_g, -1));
    if (sentinel.defined() && !masks_products) masked_fill_in_place(weighted, sentinel);
    Tensor inverse = empty(run.session, perm.sizes(), DType::int64, Op::empty_like);
    { const Tensor range = arange(run.session, perm.size(0)); }
    weighted = index_rows(weighted, inverse);
    const Tensor final_hidden = sum_over(view(weighted, {tokens, top_k, width}), 1, false);
    Tensor out = to(final_hidden, hidden.dtype());
    for (Tensor* local : {&expert_ids_g, &perm, &selected, &sample_weights_g, &histc_input, &tokens_per_expert,
                          &offsets, &sentinel, &biases, &proj_out, &weighted, &inverse})
        local->reset();  // Python's local variables go in their order
    return out;
}

namespace {

/// MixtralExperts.forward, and what tensor parallelism puts around it.
Tensor all_experts(const Run& run, const DecoderLayer& layer, const Tensor& hidden, const Routed& routed) {
    const ExpertWeights weights{.module = &layer.experts};
    if (layer.experts.pieces == 1) return grouped_experts(run, weights, activated_gate, hidden, routed);
    const Routed given{routed.logits, summed_in_backward(routed.weights), routed.experts};
    const Tensor out = grouped_experts(run, weights, activated_gate, summed_in_backward(hidden), given);
    sum_in_place(out);
    return out;
}

Tensor sparse_block(const Run& run, const DecoderLayer& layer, const Tensor& x) {
    Tensor hidden = view(x, {-1, x.size(-1)});
    Tensor shared;
    if (layer.shared_gate.in > 0) shared = shared_expert(run, layer, hidden);
    Routed routed = route(run, layer, hidden);
    Tensor out = all_experts(run, layer, hidden, routed);
    if (shared.defined()) {
        Tensor gated;
        {
            const Tensor gate = sigmoid(forward(layer.shared_expert_gate, hidden));
            gated = mul(gate, shared);
        }
        shared = std::move(gated);
        out = add(out, shared);
    }
    out = reshape(out, x.sizes());
    for (Tensor* local : {&shared, &routed.logits, &routed.weights}) local->reset();  // in the order of their names
    return out;
}

}  // namespace

Tensor sparse_mlp(const Run& run, const DecoderLayer& layer, const Tensor& x) {
    const InModule scope(run.session, parent_of(layer.router.name));
    return called(&layer, Part::mlp, x, [&](const Tensor& given) { return sparse_block(run, layer, given); });
}

}  // namespace vramfit::model
