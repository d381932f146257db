// trl 1.9 and 1.16 trainer/dpo_trainer.py DPOTrainer._compute_loss.
#include "model/preferences/dpo.hpp"

#include "engine/ops/copy.hpp"
#include "engine/ops/in_place.hpp"
#include "engine/ops/index.hpp"
#include "engine/ops/pointwise.hpp"
#include "engine/ops/reduce.hpp"
#include "engine/ops/split.hpp"
#include "engine/ops/sum.hpp"
#include "engine/ops/view.hpp"
#include "model/losses/balancing_loss.hpp"
#include "model/preferences/dpo_terms.hpp"
#include "model/preferences/metrics.hpp"
#include "model/preferences/rows.hpp"
#include "model/preferences/scores.hpp"
#include "model/preferences/whole_logits.hpp"

namespace vramfit::model {

using namespace engine;

namespace {

/// The head of the policy, which the reference without adapters shares, gives all scores.
constexpr ScoreParts kPolicyScores = {.entropy = true, .mean_logits = true, .is_top1 = true};

Scored reference_scores(const Run& run, Network& policy, const Reference& reference, const Batch& batch,
                        const Place& place, const ForwardWrapper& wrapper) {
    return on_reference(run, policy, reference, [&](const Run& asked, const Network& network) {
        const WithinPhase phase(run.session, phase_at(PhaseKind::reference_forward, place));
        if (!reference.network && wrapper.shards) wrapper.before();
        Scored out =
            scored_by_reference(asked, network, batch, reference.network ? ScoreParts{} : kPolicyScores, place);
        if (!reference.network && wrapper.shards) wrapper.after(out.fused.log_probs, out.fused.all());
        return out;
    });
}

struct Metrics {
    const Run& run;
    const Batch& batch;
    const Scored& outputs;
    Tensor mask;  ///< shift_completion_mask
    std::vector<Tensor> masks;

    bool is_whole() const { return outputs.shift_logits.defined(); }
};

/// Entropy, tokens, mean logits and accuracy. What stays is what the function's variables hold until it returns.
struct TokenMetrics {
    Tensor entropy, predictions, chosen_mask, entropy_sum, total_tokens, correct_predictions, correct_tokens, total_sum;

    explicit TokenMetrics(const Metrics& m) {
        {
            entropy = token_entropy(m.outputs);
            entropy_sum = sum_all(mul(entropy, m.mask));
            if (!m.is_whole()) entropy.reset();
        }
        total_tokens = sum_all(m.mask);
        entropy_sum = sum_all(gathered(m.run, entropy_sum));
        total_tokens = sum_all(gathered(m.run, total_tokens));
        read_ratio(entropy_sum, total_tokens);
        if (m.run.session.training) read_sum(gathered(m.run, sum_all(m.batch.attention_mask)));
        mean_logits(m);
        find_correct(m);
        total_tokens = sum_all(m.is_whole() ? chosen_mask : m.masks[0]);
        correct_tokens = sum_all(correct_predictions);
        correct_tokens = gathered(m.run, correct_tokens);
        total_tokens = gathered(m.run, total_tokens);
        total_sum = sum_all(total_tokens);
        read_item(compare(Op::gt, total_sum));
        const Tensor correct = sum_all(correct_tokens);
        read_item(div(correct, total_sum));
    }

    /// Tokens of the chosen completions that were the likeliest.
    void find_correct(const Metrics& m) {
        if (!m.is_whole()) {
            const Tensor is_top1 = chunk(last_places_of(m.outputs.fused.is_top1), 2, 0)[0];
            const Tensor labelled = to(m.masks[0], DType::boolean);
            correct_predictions = compare(Op::bitwise_and, is_top1, labelled);
            return;
        }
        predictions = argmax_last(chunk(detach(m.outputs.shift_logits), 2, 0)[0]);
        chosen_mask = to(m.masks[0], DType::boolean);
        const Tensor equal = compare(Op::eq, predictions);
        correct_predictions = compare(Op::bitwise_and, equal, chosen_mask);
    }

    void mean_logits(const Metrics& m) const {
        const bool whole = m.is_whole();
        const auto logits =
            chunk(whole ? detach(m.outputs.shift_logits) : last_places_of(m.outputs.fused.mean_logits), 2, 0);
        const auto sum_of = whole ? sum_of_mean_logits : sum_where;
        Tensor chosen = sum_of(logits[0], m.masks[0], chosen_tokens(m.run));
        Tensor chosen_number = sum_all(m.masks[0]);
        Tensor rejected = sum_of(logits[1], m.masks[1], scored_tokens(m.run) - chosen_tokens(m.run));
        Tensor rejected_number = sum_all(m.masks[1]);
        for (Tensor* t : {&chosen, &chosen_number, &rejected, &rejected_number}) {
            read_sum(gathered(m.run, *t));
            t->reset();
        }
    }
};

/// Rewards and log-probabilities of the pairs.
void pair_metrics(const Run& run, const PairScores& scores, const Tensor& chosen_log_probs,
                  const Tensor& rejected_log_probs, Variables& names) {
    const auto read_gathered = [&](std::string_view name, const Tensor& t) {
        names[name] = gathered(run, t);
        read_mean(names[name]);
    };
    names["chosen_rewards"] = mul(detach(scores.chosen_log_ratios), 1.0);
    names["rejected_rewards"] = mul(detach(scores.rejected_log_ratios), 1.0);
    names["agg_chosen_rewards"] = gathered(run, names["chosen_rewards"]);
    names["agg_rejected_rewards"] = gathered(run, names["rejected_rewards"]);
    read_mean(names["agg_chosen_rewards"]);
    read_mean(names["agg_rejected_rewards"]);
    names["reward_accuracies"] =
        to(compare(Op::gt, names["chosen_rewards"], names["rejected_rewards"]), DType::float32);
    read_gathered("agg_reward_accuracies", names["reward_accuracies"]);
    names["margins"] = sub(names["chosen_rewards"], names["rejected_rewards"]);
    read_gathered("agg_margins", names["margins"]);
    read_mean(gathered(run, chosen_log_probs));
    read_mean(gathered(run, rejected_log_probs));
}

/// The sum over loss_type of per_sequence_loss.mean() * weight.
Tensor sum_of_losses(const Run& run, const PairScores& scores, Variables& names) {
    Tensor loss;
    for (const PairLoss type : run.plan.preference.loss_types) {
        names["per_sequence_loss"] = loss_of_pairs(run, type, scores, names);
        const Tensor weighted = mul(mean_all(names["per_sequence_loss"]), 1.0);
        if (loss.defined())
            add_in_place(loss, weighted);
        else
            loss = add(weighted, 0.0);
    }
    return loss;
}

}  // namespace

std::vector<Tensor> precomputed_pairs(const Run& run, Network& policy, const Batch& inputs) {
    const Batch batch = with_labels(run, inputs);
    Scored outputs = on_reference(run, policy, {}, [&](const Run& asked, const Network& network) {
        return scored_by_reference(asked, network, batch, kPolicyScores, {});
    });
    return {sum_over(token_log_probs(batch, outputs), 1, false)};
}

Tensor dpo_loss(const Run& run, Network& network, const Reference& reference, const Batch& inputs, const Place& place,
                const ForwardWrapper& wrapper) {
    Session& session = run.session;
    const Batch batch = with_labels(run, inputs);
    if (wrapper.before) wrapper.before();
    Scored outputs = scored(run, network, batch, kPolicyScores, place);
    session.recorder.begin(phase_at(PhaseKind::loss, place));
    if (wrapper.after) wrapper.after(outputs.fused.log_probs, outputs.fused.all());
    session.begin_loss();
    PairScores scores;
    scores.log_probs = token_log_probs(inputs, outputs);
    scores.logits = outputs.shift_logits;
    const Tensor log_probs = sum_over(scores.log_probs, 1, false);
    const auto of_policy = chunk(log_probs, 2, 0);
    Tensor reference_chosen = inputs.reference_chosen, reference_rejected = inputs.reference_rejected;
    Scored reference_outputs;
    Tensor reference_log_probs;
    if (!run.plan.preference.precompute_ref_log_probs) {
        // FSDP2's hooks are around the module's forward, with which the phase begins and ends.
        if (reference.shards) reference.shards->before_forward();
        reference_outputs = reference_scores(run, network, reference, batch, place, wrapper);
        begin_loss(run, place);
        if (reference.shards) reference.shards->after_forward(reference_outputs.fused.all());
        reference_log_probs = token_log_probs(inputs, reference_outputs);
        const auto of_reference = chunk(sum_over(reference_log_probs, 1, false), 2, 0);
        reference_chosen = of_reference[0];
        reference_rejected = of_reference[1];
    }
    scores.chosen_log_ratios = sub(of_policy[0], reference_chosen);
    scores.rejected_log_ratios = sub(of_policy[1], reference_rejected);
    scores.delta = sub(scores.chosen_log_ratios, scores.rejected_log_ratios);
    scores.completion_mask = inputs.completion_mask;
    scores.labels = shifted(inputs.input_ids);
    Variables names;
    Tensor loss = sum_of_losses(run, scores, names);
    if (outputs.aux_loss().defined()) {
        loss = add(loss, mul(outputs.aux_loss(), 1.0));
        read_mean(gathered(run, outputs.aux_loss()));
    }
    const Tensor mask = shifted(inputs.completion_mask);
    const TokenMetrics tokens({run, inputs, outputs, mask, chunk(mask, 2, 0)});
    pair_metrics(run, scores, of_policy[0], of_policy[1], names);
    return loss;
}

}  // namespace vramfit::model
