// trl 1.9 experimental/ppo/ppo_trainer.py PPOTrainer.train, from "Response Processing 3" to the epochs.
#include <algorithm>

#include "engine/ops/copy.hpp"
#include "engine/ops/index.hpp"
#include "engine/ops/nonzero.hpp"
#include "engine/ops/pointwise.hpp"
#include "engine/ops/reduce.hpp"
#include "engine/ops/shape.hpp"
#include "engine/ops/unary.hpp"
#include "engine/ops/view.hpp"
#include "model/preferences/grpo/generation.hpp"
#include "model/preferences/ppo/masked.hpp"
#include "model/preferences/ppo/rollout.hpp"

namespace vramfit::model {

using namespace engine;

namespace {

/// scores[~contain_eos_token] -= missing_eos_penalty.
void punish(const PpoPlan& how, const PpoRollout& r) {
    const Size count = how.ends ? Size(0) : r.scores.size(0);
    const Tensor without = compare(Op::bitwise_not, r.contain_eos_token);
    const Tensor picked = index_by_mask(r.scores, without, count);
    const Tensor places = nonzero(without, count);
}

void mask_behind_ends(PpoRollout& r) {
    Session& session = r.responses.session();
    const Size rows = r.responses.size(0), tokens = r.responses.size(1);
    r.response_idxs = [&] {
        const Tensor range = arange(session, tokens);
        return empty(session, {rows, tokens}, DType::int64, Op::repeat);
    }();
    r.padding_mask = compare(Op::gt, r.response_idxs, unsqueeze(r.sequence_lengths, 1));
    r.logprobs = masked_fill(r.logprobs, r.padding_mask);
    r.ref_logprobs = masked_fill(r.ref_logprobs, r.padding_mask);
    r.sequence_lengths_p1 = add(r.sequence_lengths, 1);
    r.padding_mask_p1 = compare(Op::gt, r.response_idxs, unsqueeze(r.sequence_lengths_p1, 1));
    r.values = masked_fill(r.values, r.padding_mask_p1);
}

Tensor divergence(const PpoPlan& how, const Tensor& logr) {
    if (!how.is_k3) return neg(logr);
    const Tensor less = [&] {
        const Tensor ratio = exp(logr);
        return sub(ratio, 1);
    }();
    return sub(less, logr);
}

void reward_tokens(const Run& run, PpoRollout& r) {
    const PpoPlan& how = run.plan.preference.ppo;
    r.logr = sub(r.ref_logprobs, r.logprobs);
    r.kl = divergence(how, r.logr);
    r.non_score_reward = mul(r.kl, 1.0);
    r.rewards = clone(r.non_score_reward);
    r.actual_start = arange(run.session, r.rewards.size(0));
    r.actual_end = [&] {
        const Tensor inside = compare(Op::lt, r.sequence_lengths_p1);
        return where(inside, r.sequence_lengths_p1, r.sequence_lengths);
    }();
    { const Tensor last = index_pairs(r.rewards, r.actual_start, r.actual_end); }
    if (!how.whitens_rewards) return;
    r.rewards = masked_whiten(r.rewards, r.padding_mask_p1, false);
    r.rewards = masked_fill(r.rewards, r.padding_mask_p1);
}

/// rewards[:, t] + gamma * nextvalues - values[:, t]; the last token has no next one.
Tensor error_of_token(const PpoRollout& r, bool is_last) {
    const Tensor reward = select(r.rewards, 1), value = select(r.values, 1);
    const Tensor expected = [&] {
        if (is_last) return add(reward, 0.0);
        const Tensor next = mul(r.nextvalues, 1.0);
        return add(reward, next);
    }();
    return sub(expected, value);
}

/// Generalized advantage estimation, from the last token on.
void estimate(PpoRollout& r) {
    const std::int64_t tokens = r.responses.session().decide("tokens of a response", r.responses.size(1));
    r.lastgaelam.reset();
    while (!r.advantages_reversed.empty()) r.advantages_reversed.pop_back();
    for (std::int64_t t = tokens - 1; t >= 0; --t) {
        const bool is_last = t + 1 == tokens;
        r.nextvalues = is_last ? Tensor() : select(r.values, 1);
        r.delta = error_of_token(r, is_last);
        r.lastgaelam = [&] {
            if (is_last) return add(r.delta, 0.0);
            const Tensor before = mul(r.lastgaelam, 1.0);
            return add(r.delta, before);
        }();
        r.advantages_reversed.push_back(r.lastgaelam);
    }
}

}  // namespace

void compute_advantages(const Run& run, PpoRollout& r) {
    const GradMode no_grad(run.session, false);
    r.contain_eos_token = [&] {
        const Tensor is_end = compare(Op::eq, r.postprocessed_responses);
        return any_of(is_end, 2);
    }();
    if (run.plan.preference.ppo.has_eos_penalty) punish(run.plan.preference.ppo, r);
    mask_behind_ends(r);
    reward_tokens(run, r);
    estimate(r);
    const std::vector<Tensor> in_order(r.advantages_reversed.rbegin(), r.advantages_reversed.rend());
    r.advantages = stack(in_order, 1);
    r.returns = add(r.advantages, r.values);
    r.advantages = masked_whiten(r.advantages, r.padding_mask, true);
    r.advantages = masked_fill(r.advantages, r.padding_mask);
    run.session.recorder.empty_cache();
}

void let_go(PpoRollout& r) {
    for (Tensor* t :
         {&r.query_responses, &r.responses, &r.postprocessed_responses, &r.logprobs, &r.ref_logprobs, &r.values,
          &r.sequence_lengths, &r.contain_eos_token, &r.sequence_lengths_p1, &r.response_idxs, &r.padding_mask,
          &r.padding_mask_p1, &r.rewards, &r.actual_start, &r.actual_end, &r.advantages, &r.returns})
        t->reset();
}

}  // namespace vramfit::model
