// trl 1.16 experimental/online_dpo/online_dpo_trainer.py OnlineDPOTrainer.training_step, _forward,
// _calculate_rewards_from_functions.
#include "model/preferences/online/loss.hpp"

#include <vector>

#include "engine/ops/copy.hpp"
#include "engine/ops/index.hpp"
#include "engine/ops/pointwise.hpp"
#include "engine/ops/reduce.hpp"
#include "engine/ops/shape.hpp"
#include "engine/ops/softmax.hpp"
#include "engine/ops/split.hpp"
#include "engine/ops/sum.hpp"
#include "engine/ops/unary.hpp"
#include "engine/ops/view.hpp"
#include "model/causal_lm/mixed_precision.hpp"
#include "model/preferences/grpo/generation.hpp"
#include "model/preferences/grpo/rewards.hpp"
#include "model/preferences/grpo/scores.hpp"
#include "model/preferences/metrics.hpp"
#include "model/preferences/online/rows.hpp"
#include "model/preferences/rows.hpp"
#include "vramfit/spec/pair_rows.hpp"

namespace vramfit::model {

using namespace engine;

namespace {

/// x.mean() as the host reads it behind another mean: gather_for_metrics(x.mean()).mean().item().
void read_mean_of_mean(const Tensor& t) {
    const Tensor mean = mean_all(t);
    read_mean(mean);
}

/// torch.any(torch.isin(completion_ids, ends), dim=-1).
Tensor contains_end(const Run& run, const Tensor& completion_ids) {
    const Tensor is_end = [&] {
        const Tensor end_ids = moved(run, {end_tokens(run)}, DType::int64);
        return is_in(completion_ids, end_ids);
    }();
    return any_of(is_end, 2);
}

/// torch.take_along_dim(logits.log_softmax(dim=-1), completion_ids.unsqueeze(-1), dim=2).squeeze(-1).
Tensor picked_log_probs(const Tensor& logits, const Tensor& completion_ids) {
    const Tensor log_probs = log_softmax_in_own_dtype(logits);
    const Tensor index = unsqueeze(completion_ids, -1);
    const Tensor wrapped = empty(logits.session(), index.sizes(), DType::int64, Op::remainder);
    return squeeze(gather(log_probs, wrapped), -1);
}

/// _forward: [2 B, N]. `forward` gives the model's output.
template <class Forward>
Tensor token_scores(const Run& run, const OnlineRows& rows, const Forward& forward) {
    Batch inputs;
    const auto joined = [](const Tensor& before, const Tensor& behind) {
        const Tensor parts[2] = {before, behind};
        return cat(parts, 1);
    };
    inputs.input_ids = joined(rows.prompt_ids, rows.completion_ids);
    inputs.attention_mask = joined(rows.prompt_mask, rows.completion_mask);
    inputs.padded = group_rows(run.plan).pads;
    inputs.missing = missing_of_rows(run);
    const Output output = forward(inputs);
    const Size first = rows.prompt_ids.size(1) - 1;
    return picked_log_probs(slice(output.logits, 1, first, output.logits.size(1) - 1), rows.completion_ids);
}

Tensor policy_scores(const Run& run, const Network& network, const OnlineRows& rows, const Place& place) {
    return token_scores(run, rows, [&](const Batch& inputs) {
        Output output = prepared_forward(run, network, inputs, {}, place);
        begin_loss(run, place);
        return output;
    });
}

/// A model of its own has only its forward in the window of the reference.
Tensor reference_scores(const Run& run, Network& network, const Reference& reference, const OnlineRows& rows,
                        const Place& place) {
    const Phase phase = phase_at(PhaseKind::reference_forward, place);
    Tensor out;
    if (reference.network) {
        out = on_reference(run, network, reference, [&](const Run& asked, const Network& other) {
            return token_scores(asked, rows, [&](const Batch& inputs) {
                Output output;
                {
                    const WithinPhase within(run.session, phase);
                    output = prepared_forward(asked, other, inputs, {}, {});
                }
                begin_loss(run, place);
                return output;
            });
        });
    } else {
        const WithinPhase within(run.session, phase);
        out = on_reference(run, network, reference, [&](const Run& asked, const Network& other) {
            return token_scores(asked, rows,
                                [&](const Batch& inputs) { return prepared_forward(asked, other, inputs, {}, {}); });
        });
    }
    begin_loss(run, place);
    return out;
}

/// Which rows are chosen and which are rejected.
struct Ranking {
    Tensor mask, batch_range, chosen, rejected, both;
};

Ranking ranked(const Run& run, const Tensor& rewards) {
    Ranking out;
    const auto halves = chunk(rewards, 2, 0);
    out.mask = compare(Op::ge, halves[0], halves[1]);
    out.batch_range = arange(run.session, pairs_of(run));
    const auto moved_by = [&](const Tensor& mask) { return pointwise_result(mask, DType::int64, Op::mul); };
    {
        const Tensor places = [&] {
            const Tensor other = compare(Op::bitwise_not, out.mask);
            return moved_by(other);
        }();
        out.chosen = add(out.batch_range, places);
    }
    {
        const Tensor places = moved_by(out.mask);
        out.rejected = add(out.batch_range, places);
    }
    const Tensor parts[2] = {out.chosen, out.rejected};
    out.both = cat(parts, 0);
    return out;
}

/// (scores * ~padding_mask).sum(1).
Tensor summed(const Tensor& scores, const Tensor& padding_mask) {
    const Tensor kept = compare(Op::bitwise_not, padding_mask);
    const Tensor masked = mul(scores, kept);
    return sum_over(masked, 1, false);
}

Tensor losses_of(const Run& run, const Tensor& logits) {
    if (run.plan.preference.loss_types.front() == PairLoss::ipo) return square(sub(logits, 1.0));
    return neg(log_sigmoid(mul(logits, 1.0)));
}

/// self.beta * (scores - reference's).
Tensor implied_rewards(const Tensor& scores, const Tensor& of_reference) {
    const Tensor difference = sub(scores, of_reference);
    return mul(difference, 1.0);
}

}  // namespace

void online_dpo_step(const Run& run, Network& network, const Reference& reference, const Place& place,
                     const std::function<void(const Tensor&)>& backward) {
    const OnlineRows rows = generate_pairs(run, network, place);
    const Tensor contain_eos = contains_end(run, rows.completion_ids);
    const Tensor log_probs = policy_scores(run, network, rows, place);
    const Tensor of_reference = reference_scores(run, network, reference, rows, place);
    Tensor rewards;
    {
        const WithinPhase phase(run.session, phase_at(PhaseKind::reward, place));
        rewards = summed_rewards(run, run.sizes.batch);
    }
    begin_loss(run, place);
    const Ranking rank = ranked(run, rewards);
    const Tensor both = index_rows(log_probs, rank.both), reference_both = index_rows(of_reference, rank.both);
    const Tensor padding = [&] {
        const Tensor seen = to(rows.completion_mask, DType::boolean);
        return compare(Op::bitwise_not, seen);
    }();
    const Tensor padding_both = index_rows(padding, rank.both);
    const auto scores = chunk(summed(both, padding_both), 2, 0);
    const auto reference_scores = chunk(summed(reference_both, padding_both), 2, 0);
    const Tensor policy_ratios = sub(scores[0], scores[1]);
    const Tensor reference_ratios = sub(reference_scores[0], reference_scores[1]);
    const Tensor logits = sub(policy_ratios, reference_ratios);
    const Tensor losses = losses_of(run, logits);
    const Tensor loss = mean_all(losses);
    const Tensor scores_margin = [&] {
        const Tensor chosen = index_rows(rewards, rank.chosen), rejected = index_rows(rewards, rank.rejected);
        return sub(chosen, rejected);
    }();
    read_mean_of_mean(scores_margin);
    read_mean_of_mean(rewards);
    {
        const Tensor numbers = to(contain_eos, DType::float32);
        read_mean(numbers);
    }
    for (const Tensor& each : scores) read_mean(each);
    const Tensor kl = sub(log_probs, of_reference);
    const auto mean_of_sums = [](const Tensor& t) {
        const Tensor sum = sum_over(t, 1, false);
        return mean_all(sum);
    };
    const Tensor mean_kl = mean_of_sums(kl);
    read_mean(mean_kl);
    const Tensor non_score_reward = [&] {
        const Tensor weighted = mul(kl, 1.0);
        return sum_over(weighted, 1, false);
    }();
    const Tensor mean_non_score_reward = mean_all(non_score_reward);
    read_mean(mean_non_score_reward);
    const Tensor rlhf_reward = add(rewards, non_score_reward);
    read_mean(rlhf_reward);
    const Tensor mean_entropy = [&] { return neg(mean_of_sums(log_probs)); }();
    read_mean(mean_entropy);
    const Tensor chosen_rewards = implied_rewards(scores[0], reference_scores[0]);
    read_mean(chosen_rewards);
    const Tensor rejected_rewards = implied_rewards(scores[1], reference_scores[1]);
    read_mean(rejected_rewards);
    const Tensor margin = sub(chosen_rewards, rejected_rewards);
    read_mean(margin);
    const Tensor accuracy = compare(Op::gt, margin);
    {
        const Tensor numbers = to(accuracy, DType::float32);
        read_mean(numbers);
    }
    backward(loss);
}

}  // namespace vramfit::model
