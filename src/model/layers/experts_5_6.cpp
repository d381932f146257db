// transformers 5.6 integrations/moe.py grouped_mm_experts_forward: tokens are counted out before they are ordered.
#include "engine/ops/clamp.hpp"
#include "engine/ops/copy.hpp"
#include "engine/ops/in_place.hpp"
#include "engine/ops/index.hpp"
#include "engine/ops/pointwise.hpp"
#include "engine/ops/sum.hpp"
#include "engine/ops/view.hpp"
#include "model/adapters/param_wrapper.hpp"
#include "model/layers/grouped_linear.hpp"
#include "model/network/modules.hpp"

namespace vramfit::model {

using namespace engine;

namespace {

/// The token of each of its places among the experts.
Tensor tokens_of_places(Session& session, const Size& tokens, const Size& top_k) {
    return reshape(expand(unsqueeze(arange(session, tokens), 1), {tokens, top_k}), {-1});
}

}  // namespace

Tensor grouped_experts_5_6(const Run& run, const ExpertWeights& w, ApplyGate gate, const Tensor& hidden,
                           const Routed& routed) {
    const Size tokens = hidden.size(0), width = hidden.size(1), top_k = routed.experts.size(-1);
    // The wrapper of the last parameter is the outermost. Sums are kept to the end (parametrize.cached).
    const FoldedParameter down(*w.module, w.down);
    const FoldedParameter gate_up(*w.module, w.gate_up);
    Tensor token_idx = tokens_of_places(run.session, tokens, top_k);
    const Tensor sample_weights = reshape(routed.weights, {-1});
    Tensor expert_ids = reshape(routed.experts, {-1});
    Tensor invalid_mask = compare(Op::ge, expert_ids);
    expert_ids = clamp_both(expert_ids);
    Tensor perm = sort(expert_ids).indices;  // argsort
    Tensor inverse = empty(run.session, perm.sizes(), DType::int64, Op::empty_like);
    { const Tensor range = arange(run.session, perm.size(0)); }
    Tensor expert_ids_g = index_rows(expert_ids, perm);
    Tensor sample_weights_g = index_rows(sample_weights, perm);
    Tensor selected = index_rows(hidden, index_rows(token_idx, perm));
    Tensor histc_input = to(expert_ids_g, DType::int32);
    Tensor tokens_per_expert = histc(histc_input, run.spec.mixture->num_experts);
    Tensor offsets = cumsum_row(tokens_per_expert);
    Tensor proj_out = grouped_linear(selected, gate_up.value(), offsets, {}, w.is_transposed);
    proj_out = gate(run, proj_out);
    proj_out = grouped_linear(proj_out, down.value(), offsets, {}, w.is_transposed);
    Tensor weighted = mul(proj_out, unsqueeze(sample_weights_g, -1));
    Tensor invalid_mask_g = index_rows(invalid_mask, perm);
    masked_fill_in_place(weighted, unsqueeze(invalid_mask_g, -1));
    weighted = index_rows(weighted, inverse);
    const Tensor final_hidden = sum_over(view(weighted, {tokens, top_k, width}), 1, false);
    Tensor out = to(final_hidden, hidden.dtype());
    for (Tensor* local : {&token_idx, &expert_ids, &invalid_mask, &perm, &inverse, &expert_ids_g, &sample_weights_g,
                          &selected, &histc_input, &tokens_per_expert, &offsets, &proj_out, &weighted, &invalid_mask_g})
        local->reset();  // Python's local variables go in their order
    return out;
}

}  // namespace vramfit::model
