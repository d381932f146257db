// trl 1.9 experimental/ppo/ppo_trainer.py PPOTrainer.train: the innermost loop.
#include "model/preferences/ppo/loss.hpp"

#include "engine/ops/clamp.hpp"
#include "engine/ops/copy.hpp"
#include "engine/ops/in_place.hpp"
#include "engine/ops/index.hpp"
#include "engine/ops/logsumexp.hpp"
#include "engine/ops/pointwise.hpp"
#include "engine/ops/reduce.hpp"
#include "engine/ops/shape.hpp"
#include "engine/ops/softmax.hpp"
#include "engine/ops/unary.hpp"
#include "engine/ops/view.hpp"
#include "model/preferences/grpo/generation.hpp"
#include "model/preferences/ppo/forward.hpp"
#include "model/preferences/ppo/masked.hpp"
#include "model/preferences/rows.hpp"
#include "model/preferences/whole_logits.hpp"

namespace vramfit::model {

using namespace engine;

namespace {

/// t[micro_batch_inds]: the indices come from the host each time.
Tensor rows_of_batch(const Run& run, const Tensor& t) {
    return index_rows(t, moved(run, {run.sizes.batch}, DType::int64));
}

/// ~mask[micro_batch_inds].
Tensor not_picked(const Run& run, const Tensor& mask) {
    const Tensor of_batch = rows_of_batch(run, mask);
    return compare(Op::bitwise_not, of_batch);
}

Tensor masked_mean_of_batch(const Run& run, const Tensor& values, const Tensor& padding) {
    const Tensor mask = not_picked(run, padding);
    return masked_mean(values, mask);
}

/// masked_mean((a > b).float(), ~mask[micro_batch_inds]).
Tensor share_above(const Run& run, const Tensor& a, const Tensor& b, const Tensor& padding) {
    const Tensor numbers = [&] {
        const Tensor above = compare(Op::gt, a, b);
        return to(above, DType::float32);
    }();
    return masked_mean_of_batch(run, numbers, padding);
}

void pick_rows(const Run& run, const PpoRollout& r, PpoBatch& b) {
    b.mb_advantage = rows_of_batch(run, r.advantages);
    b.mb_responses = rows_of_batch(run, r.responses);
    b.mb_query_responses = rows_of_batch(run, r.query_responses);
    b.mb_logprobs = rows_of_batch(run, r.logprobs);
    b.mb_return = rows_of_batch(run, r.returns);
    b.mb_values = rows_of_batch(run, r.values);
}

void run_networks(const Run& run, const PpoNetworks& networks, const Place& place, PpoBatch& b) {
    const Size context = run.plan.batch.pairs.prompt.front();
    Batch given = given_rows(run, b.mb_query_responses);
    WrappedOutput wrapped = wrapped_output(run, networks, given, place);
    for (Tensor* t : {&given.attention_mask, &given.position_ids, &given.input_ids}) t->reset();
    let_go(b.output);
    b.output = std::move(wrapped.policy);
    b.vpred_temp = std::move(wrapped.values);
    b.logits.reset();
    b.logits = div_slice_in_place(b.output.logits, 1, context - 1, b.output.logits.size(1) - 1);
    b.new_logprobs = selective_log_softmax(b.logits, b.mb_responses);
}

void compute_value_loss(const Run& run, const PpoRollout& r, PpoBatch& b) {
    const Size context = run.plan.batch.pairs.prompt.front();
    b.vpred = squeeze(slice(b.vpred_temp, 1, context - 1, b.vpred_temp.size(1) - 1), -1);
    b.vpred = [&] {
        const Tensor mask = rows_of_batch(run, r.padding_mask_p1);
        return masked_fill(b.vpred, mask);
    }();
    b.vpredclipped = [&] {
        const Tensor low = sub(b.mb_values, 1.0), high = add(b.mb_values, 1.0);
        return clamp_between(b.vpred, low, high);
    }();
    const auto squared_error = [&](const Tensor& value) {
        const Tensor error = sub(value, b.mb_return);
        return square(error);
    };
    b.vf_losses1 = squared_error(b.vpred);
    b.vf_losses2 = squared_error(b.vpredclipped);
    b.vf_loss_max = maximum(b.vf_losses1, b.vf_losses2);
    b.vf_loss = [&] {
        const Tensor mean = masked_mean_of_batch(run, b.vf_loss_max, r.padding_mask_p1);
        return mul(mean, 1.0);
    }();
    b.vf_clipfrac = share_above(run, b.vf_losses2, b.vf_losses1, r.padding_mask_p1);
}

void compute_policy_loss(const Run& run, const PpoRollout& r, PpoBatch& b) {
    b.logprobs_diff = sub(b.new_logprobs, b.mb_logprobs);
    b.ratio = exp(b.logprobs_diff);
    b.pg_losses = [&] {
        const Tensor disadvantage = neg(b.mb_advantage);
        return mul(disadvantage, b.ratio);
    }();
    b.pg_losses2 = [&] {
        const Tensor disadvantage = neg(b.mb_advantage);
        const Tensor clipped = clamp_both(b.ratio);
        return mul(disadvantage, clipped);
    }();
    b.pg_loss_max = maximum(b.pg_losses, b.pg_losses2);
    b.pg_loss = masked_mean_of_batch(run, b.pg_loss_max, r.padding_mask);
}

}  // namespace

void train_batch(const Run& run, const PpoNetworks& networks, const PpoRollout& r, const Place& place, PpoBatch& b) {
    pick_rows(run, r, b);
    run_networks(run, networks, place, b);
    b.new_logprobs = [&] {
        const Tensor mask = rows_of_batch(run, r.padding_mask);
        return masked_fill(b.new_logprobs, mask);
    }();
    compute_value_loss(run, r, b);
    compute_policy_loss(run, r, b);
    b.loss = [&] {
        const Tensor weighted = mul(b.vf_loss, 1.0);
        return add(b.pg_loss, weighted);
    }();
}

void measure_batch(const Run& run, const PpoRollout& r, PpoBatch& b) {
    const GradMode no_grad(run.session, false);
    b.pg_clipfrac = share_above(run, b.pg_losses2, b.pg_losses, r.padding_mask);
    b.prob_dist = softmax_in_own_dtype(b.logits);
    b.entropy = [&] {
        const Tensor sums = logsumexp(b.logits);
        const Tensor expected = [&] {
            const Tensor products = mul(b.prob_dist, b.logits);
            return sum_dim(products, -1, false, products.dtype());
        }();
        return sub(sums, expected);
    }();
    b.approxkl = [&] {
        const Tensor mean = [&] {
            const Tensor squares = square(b.logprobs_diff);
            return mean_all(squares);
        }();
        return mul(mean, 1.0);
    }();
    { const Tensor mean = mean_all(b.entropy); }
    { const Tensor mean = mean_all(b.ratio); }
}

void let_go(PpoBatch& b) {
    let_go(b.output);
    for (Tensor* t : {&b.vpred_temp, &b.logits,       &b.new_logprobs, &b.vpred,        &b.vpredclipped,
                      &b.vf_losses1, &b.vf_losses2,   &b.vf_loss,      &b.vf_clipfrac,  &b.logprobs_diff,
                      &b.ratio,      &b.pg_losses,    &b.pg_losses2,   &b.pg_loss_max,  &b.pg_loss,
                      &b.loss,       &b.pg_clipfrac,  &b.prob_dist,    &b.entropy,      &b.approxkl,
                      &b.mb_return,  &b.mb_advantage, &b.mb_values,    &b.mb_responses, &b.mb_query_responses,
                      &b.mb_logprobs})
        t->reset();
}

}  // namespace vramfit::model
