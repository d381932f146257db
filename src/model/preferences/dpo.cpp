// trl 1.16 trainer/dpo_trainer.py DPOTrainer._compute_loss.
#include "model/preferences/dpo.hpp"

#include <algorithm>
#include <optional>

#include "engine/autocast.hpp"
#include "engine/ops/copy.hpp"
#include "engine/ops/nonzero.hpp"
#include "engine/ops/pointwise.hpp"
#include "engine/ops/reduce.hpp"
#include "engine/ops/split.hpp"
#include "engine/ops/sum.hpp"
#include "engine/ops/view.hpp"
#include "model/causal_lm/fused_head.hpp"
#include "model/causal_lm/mixed_precision.hpp"
#include "model/losses/balancing_loss.hpp"
#include "model/preferences/dpo_terms.hpp"
#include "model/preferences/rows.hpp"

namespace vramfit::model {

using namespace engine;

namespace {

/// The head of the policy, which the reference without adapters shares, gives all scores.
constexpr ScoreParts kPolicyScores = {.entropy = true, .mean_logits = true, .is_top1 = true};

FusedOutput policy_scores(const Run& run, const Network& network, const Batch& batch, const ScoreParts& parts,
                          const Place& place) {
    std::optional<AutocastScope> autocast;
    if (const auto dtype = mixed_dtype(run.plan.training)) autocast.emplace(run.session, true, *dtype);
    return fused_forward(run, network, batch, scored_tokens(run), parts, place);
}

/// inputs["input_ids"].masked_fill(completion_mask == 0, -100).
Tensor labels_of_completions(const Batch& batch) {
    const Tensor is_prompt = compare(Op::eq, batch.completion_mask);
    return masked_fill(batch.input_ids, is_prompt);
}

/// outputs.x[:, -seq_len:].
Tensor last_places_of(const Tensor& t) { return slice(t, 1, 0, t.size(1)); }

/// ref_model_kwargs: of the reference no router logits are asked for, unless the model's config does.
FusedOutput scores_of_reference(const Run& run, const Network& network, const Batch& batch, const ScoreParts& parts,
                                const Place& place) {
    if (!run.spec.mixture || run.spec.mixture->output_router_logits)
        return policy_scores(run, network, batch, parts, place);
    TrainPlan plan = run.plan;
    plan.training.router_aux_loss_coef = 0;
    const Run asked{run.session, run.spec, plan, run.stack, run.sizes, nullptr, run.recorded};
    return policy_scores(asked, network, batch, parts, place);
}

FusedOutput reference_scores(const Run& run, Network& policy, const Reference& reference, const Batch& batch,
                             const Place& place) {
    return on_reference(run, policy, reference, [&](const Network& network) {
        const WithinPhase phase(run.session, {PhaseKind::reference_forward, place.step, place.micro});
        return scores_of_reference(run, network, batch, reference.network ? ScoreParts{} : kPolicyScores, place);
    });
}

/// compute_ref_log_probs before the trainer has prepared the policy: both halves are views of the sums.
Tensor precomputed_scores(const Run& run, Network& policy, Batch batch) {
    batch.labels = labels_of_completions(batch);
    const Tensor log_probs = on_reference(run, policy, {}, [&](const Network& network) {
        return scores_of_reference(run, network, batch, kPolicyScores, {}).log_probs;
    });
    return sum_over(last_places_of(log_probs), 1, false);
}

/// value.item() of a temporary.
void read_item(const Tensor& t) { t.session().streams.host_waits(0); }
void read_sum(const Tensor& t) { read_item(sum_all(t)); }
void read_mean(const Tensor& t) { read_item(mean_all(t)); }

/// (part / all).item() if all > 0.
void read_ratio(const Tensor& part, const Tensor& all) {
    read_item(compare(Op::gt, all));
    read_item(div(part, all));
}

/// values[mask.bool()].sum().
Tensor sum_where(const Tensor& values, const Tensor& mask, const Size& count) {
    const Tensor picked = [&] {
        const Tensor labelled = to(mask, DType::boolean);
        return index_by_mask(values, labelled, count);
    }();
    return sum_all(picked);
}

struct Metrics {
    const Run& run;
    const Batch& batch;
    const FusedOutput& outputs;
    Tensor mask;  ///< shift_completion_mask
    std::vector<Tensor> masks;
};

/// Entropy, tokens, mean logits and accuracy. What stays is what the function's variables hold until it returns.
struct TokenMetrics {
    Tensor entropy_sum, total_tokens, correct_predictions, correct_tokens, total_sum;

    explicit TokenMetrics(const Metrics& m) {
        {
            const Tensor entropy = last_places_of(detach(m.outputs.entropy));
            entropy_sum = sum_all(mul(entropy, m.mask));
        }
        total_tokens = sum_all(m.mask);
        entropy_sum = sum_all(entropy_sum);
        total_tokens = sum_all(total_tokens);
        read_ratio(entropy_sum, total_tokens);
        read_sum(sum_all(m.batch.attention_mask));
        mean_logits(m);
        const Tensor is_top1 = chunk(last_places_of(m.outputs.is_top1), 2, 0)[0];
        {
            const Tensor labelled = to(m.masks[0], DType::boolean);
            correct_predictions = compare(Op::bitwise_and, is_top1, labelled);
        }
        total_tokens = sum_all(m.masks[0]);
        correct_tokens = sum_all(correct_predictions);
        total_sum = sum_all(total_tokens);
        read_item(compare(Op::gt, total_sum));
        const Tensor correct = sum_all(correct_tokens);
        read_item(div(correct, total_sum));
    }

    void mean_logits(const Metrics& m) const {
        const auto logits = chunk(last_places_of(m.outputs.mean_logits), 2, 0);
        Tensor chosen = sum_where(logits[0], m.masks[0], chosen_tokens(m.run));
        Tensor chosen_number = sum_all(m.masks[0]);
        Tensor rejected = sum_where(logits[1], m.masks[1], scored_tokens(m.run) - chosen_tokens(m.run));
        Tensor rejected_number = sum_all(m.masks[1]);
        for (Tensor* t : {&chosen, &chosen_number, &rejected, &rejected_number}) {
            read_sum(*t);
            t->reset();
        }
    }
};

/// Rewards and log-probabilities of the pairs.
void pair_metrics(const PairScores& scores, const Tensor& chosen_log_probs, const Tensor& rejected_log_probs,
                  Variables& names) {
    names["chosen_rewards"] = mul(detach(scores.chosen_log_ratios), 1.0);
    names["rejected_rewards"] = mul(detach(scores.rejected_log_ratios), 1.0);
    read_mean(names["chosen_rewards"]);
    read_mean(names["rejected_rewards"]);
    names["reward_accuracies"] =
        to(compare(Op::gt, names["chosen_rewards"], names["rejected_rewards"]), DType::float32);
    read_mean(names["reward_accuracies"]);
    names["margins"] = sub(names["chosen_rewards"], names["rejected_rewards"]);
    read_mean(names["margins"]);
    read_mean(chosen_log_probs);
    read_mean(rejected_log_probs);
}

/// The sum over loss_type of per_sequence_loss.mean() * weight.
Tensor sum_of_losses(const Run& run, const PairScores& scores, Variables& names) {
    Tensor loss;
    for (const PairLoss type : run.plan.dpo.loss_types) {
        names["per_sequence_loss"] = loss_of_pairs(run, type, scores, names);
        const Tensor weighted = mul(mean_all(names["per_sequence_loss"]), 1.0);
        loss = loss.defined() ? add(loss, weighted) : add(weighted, 0.0);
    }
    return loss;
}

}  // namespace

void precompute_references(const Run& run, Network& policy) {
    {
        const WithinPhase phase(run.session, {PhaseKind::precompute_reference});
        const Scoped<bool> evaluates(run.session.training, false);
        const auto batches = run.plan.loop.steps * run.plan.training.gradient_accumulation_steps;
        Batch batch;  // enumerate holds one until the next is there
        Tensor scores;
        for (std::int64_t number = 0; number < std::min<std::int64_t>(batches, 2); ++number) {
            batch = fetch_pairs(run, false);
            scores = precomputed_scores(run, policy, batch);
            run.session.streams.host_waits(0);  // Tensor.cpu
            run.session.end_loss();
        }
    }
    run.session.recorder.begin({PhaseKind::trainer});
}

Tensor dpo_loss(const Run& run, Network& network, const Reference& reference, const Batch& inputs, const Place& place) {
    Session& session = run.session;
    Batch batch = inputs;
    batch.labels = labels_of_completions(inputs);
    const FusedOutput outputs = policy_scores(run, network, batch, kPolicyScores, place);
    session.recorder.begin({PhaseKind::loss, place.step, place.micro});
    session.begin_loss();
    PairScores scores;
    scores.log_probs = last_places_of(outputs.log_probs);
    const Tensor log_probs = sum_over(scores.log_probs, 1, false);
    const auto of_policy = chunk(log_probs, 2, 0);
    Tensor reference_chosen = inputs.reference_chosen, reference_rejected = inputs.reference_rejected;
    FusedOutput reference_outputs;
    if (!run.plan.dpo.precompute_ref_log_probs) {
        reference_outputs = reference_scores(run, network, reference, batch, place);
        session.recorder.begin({PhaseKind::loss, place.step, place.micro});
        session.begin_loss();
        const auto of_reference = chunk(sum_over(last_places_of(reference_outputs.log_probs), 1, false), 2, 0);
        reference_chosen = of_reference[0];
        reference_rejected = of_reference[1];
    }
    scores.chosen_log_ratios = sub(of_policy[0], reference_chosen);
    scores.rejected_log_ratios = sub(of_policy[1], reference_rejected);
    scores.delta = sub(scores.chosen_log_ratios, scores.rejected_log_ratios);
    scores.completion_mask = inputs.completion_mask;
    Variables names;
    Tensor loss = sum_of_losses(run, scores, names);
    if (outputs.aux_loss.defined()) {
        loss = add(loss, mul(outputs.aux_loss, 1.0));
        read_mean(outputs.aux_loss);
    }
    const Tensor mask = slice(inputs.completion_mask, 1, 1, inputs.completion_mask.size(1));
    const TokenMetrics tokens({run, inputs, outputs, mask, chunk(mask, 2, 0)});
    pair_metrics(scores, of_policy[0], of_policy[1], names);
    return loss;
}

}  // namespace vramfit::model
