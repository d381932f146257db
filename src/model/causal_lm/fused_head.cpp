// trl 1.16 trainer/utils.py add_fused_lm_head.
#include "model/causal_lm/fused_head.hpp"

#include "engine/ops/nonzero.hpp"
#include "engine/ops/pointwise.hpp"
#include "engine/ops/reduce.hpp"
#include "engine/ops/view.hpp"
#include "model/losses/balancing_loss.hpp"
#include "model/network/unit_hooks.hpp"
#include "model/parallel/tensor/tensor_parallel.hpp"

namespace vramfit::model {

using namespace engine;

namespace {

Tensor scattered(const Tensor& mask, const Tensor& source) {
    if (!source.defined()) return {};
    const Tensor zeros = empty(mask.session(), mask.sizes(), source.dtype(), Op::zeros);
    return masked_scatter(zeros, mask, source);
}

/// The patched forward, without the hooks around it.
FusedOutput scores_of_forward(const Run& run, const Network& network, const Batch& batch, const Size& labelled,
                              const ScoreParts& parts, const Place& place) {
    FusedOutput out;
    RouterOutputs routers;
    const Tensor last = [&] {
        const Scoped collects(run.routers, balances_experts(run) ? &routers : nullptr);
        return last_hidden_state(run, network, batch, {}, place);
    }();
    const bool is_shifted = batch.shift_labels.defined();  // as Trainer does for context parallelism
    const Tensor hidden = is_shifted ? last : slice(last, 1, 0, last.size(1) - 1);
    const Tensor labels = is_shifted ? batch.shift_labels : slice(batch.labels, 1, 1, batch.labels.size(1));
    Tensor weight = network.head.weight, bias = network.head.bias;
    read(weight);  // hidden_states.to(lm_head.weight.device)
    if (bias.defined()) read(bias);
    out.label_mask = compare(Op::ne, labels);
    for (Tensor* parameter : {&weight, &bias}) {
        if (!parameter->defined()) continue;
        if (network.hooks) *parameter = network.hooks->head_weight(*parameter);
        if (network.head.cut != Cut::none) *parameter = whole_weight(*parameter, network.head.pieces);
    }
    {
        const TokenScores scores = [&] {  // without gradients nothing keeps the rows that are scored
            const Tensor picked = index_by_mask(hidden, out.label_mask, labelled);
            const Tensor targets = index_by_mask(labels, out.label_mask, labelled);
            return chunked_log_prob(picked, weight, bias, targets, parts);
        }();
        out.log_probs = scattered(out.label_mask, scores.log_probs);
        out.entropy = scattered(out.label_mask, scores.entropy);
        out.mean_logits = scattered(out.label_mask, scores.mean_logits);
        out.is_top1 = scattered(out.label_mask, scores.is_top1);
    }
    {
        Tensor minus = sum_all(out.log_probs);
        minus = neg(minus);
        const Tensor number = clamp(sum_all(out.label_mask));
        out.loss = div(minus, number);
    }
    if (!routers.logits.empty()) {
        out.aux_loss = balancing_loss(run, routers, batch.attention_mask);
        out.loss = add(out.loss, mul(out.aux_loss, 1.0));
    }
    return out;
}

}  // namespace

std::vector<Tensor*> FusedOutput::all() {
    std::vector<Tensor*> out;
    for (Tensor* t : {&loss, &log_probs, &entropy, &mean_logits, &is_top1, &label_mask, &aux_loss})
        if (t->defined()) out.push_back(t);
    return out;
}

FusedOutput fused_forward(const Run& run, const Network& network, const Batch& batch, const Size& labelled,
                          const ScoreParts& parts, const Place& place) {
    const CalledModel model(run, network, place);
    FusedOutput out = scores_of_forward(run, network, batch, labelled, parts, place);
    // The loss begins with the hook of the class; DeepSpeed's, which lets the head go, comes behind it.
    if (run.session.module_hooks && is_preference(run.plan.loop.kind) && !run.plan.peft)
        run.session.recorder.begin(phase_at(PhaseKind::loss, place));
    model.finish(out.all());
    return out;
}

bool scores_in_chunks(const Run& run) {
    const TrainPlan& plan = run.plan;
    if (plan.loop.kind == LoopKind::sft) return run.stack.sft_scores_in_chunks();
    const bool by_head = loads_reference(plan.loop.kind) || generates_rows(plan.loop.kind);
    return by_head && !by_llama_factory(plan) && run.stack.dpo_scores_in_chunks();
}

}  // namespace vramfit::model
