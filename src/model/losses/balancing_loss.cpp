// transformers 5.17 models/mixtral/modeling_mixtral.py load_balancing_loss_func, which all mixtures share.
#include "model/losses/balancing_loss.hpp"

#include "engine/ops/attention.hpp"
#include "engine/ops/copy.hpp"
#include "engine/ops/index.hpp"
#include "engine/ops/pointwise.hpp"
#include "engine/ops/reduce.hpp"
#include "engine/ops/softmax.hpp"
#include "engine/ops/sum.hpp"
#include "engine/ops/view.hpp"
#include "engine/session.hpp"
#include "spec/network/balancing.hpp"

namespace vramfit::model {

using namespace engine;

namespace {

/// torch.bincount(ids, minlength): int64. Its kernel keeps the bins in shared memory; the host reads the smallest and
/// the largest number (torch 2.11 aten/src/ATen/native/cuda/SummaryOps.cu _bincount_cuda_template).
Tensor bincount(const Tensor& ids, Size bins) {
    Session& session = ids.session();
    for (const Op op : {Op::min, Op::max}) {
        const Tensor extreme = reduce(ids, 1, false, DType::int64, op);
        session.streams.host_waits(0);
    }
    return zeros(session, {bins}, DType::int64);
}

/// What is added up over the layers.
struct Counts {
    Tensor tokens;  ///< tokens_per_expert_sum
    Tensor probabilities;
    Tensor rows;  ///< total_rows; undefined without a mask, where it is a number
};

void count_all(const Tensor& routing, const Tensor& experts, Size count, Counts& sums) {
    {
        const Tensor chosen = [&] {
            const Tensor bins = bincount(view(experts, {-1}), count);
            return to(bins, DType::float32);
        }();
        sums.tokens = add(sums.tokens, chosen);
    }
    const Tensor summed = sum_over(to(routing, DType::float32), 0, false);
    sums.probabilities = add(sums.probabilities, summed);
}

void count_masked(const Tensor& routing, const Tensor& experts, Size count, const Tensor& mask, Counts& sums) {
    {
        const Tensor chosen = zeros(mask.session(), {count}, DType::float32);
        { const Tensor repeated = repeat_interleave(mask, experts.size(-1), 0); }  // scatter_add_
        sums.tokens = add(sums.tokens, chosen);
    }
    {
        const Tensor summed = [&] {
            const Tensor weighed = [&] { return mul(to(routing, DType::float32), unsqueeze(mask, -1)); }();
            return sum_over(weighed, 0, false);
        }();
        sums.probabilities = add(sums.probabilities, summed);
    }
    const Tensor rows = sum_all(mask);
    sums.rows = sums.rows.defined() ? add(sums.rows, rows) : add(rows, 0.0);
}

}  // namespace

bool balances_experts(const Run& run) {
    if (run.spec.recording)
        return (run.plan.loop.kind == LoopKind::sft || loads_reference(run.plan.loop.kind)) &&
               run.stack.sft_balances_experts() &&
               network::sft_asks_routers(*run.spec.recording, run.plan.training.router_aux_loss_coef);
    if (!run.spec.mixture) return false;
    const MixtureSpec& mixture = *run.spec.mixture;
    // trl 1.16 trainer/sft_trainer.py SFTTrainer.__init__: the model's own switch does not count.
    const LoopKind kind = run.plan.loop.kind;
    if ((kind == LoopKind::sft || loads_reference(kind)) && run.stack.sft_balances_experts())
        return run.plan.training.router_aux_loss_coef.value_or(mixture.router_aux_loss_coef.value_or(1)) != 0;
    return mixture.output_router_logits;
}

Tensor balancing_loss(const Run& run, const RouterOutputs& routers, const Tensor& attention_mask) {
    Session& session = run.session;
    const Size count = routers.logits.front().size(-1);
    Counts sums{zeros(session, {count}, DType::float32), zeros(session, {count}, DType::float32), {}};
    Tensor mask;
    if (attention_mask.defined()) mask = to(view(attention_mask, {-1}), DType::float32);
    Tensor routing;
    Picked selected;
    for (const Tensor& logits : routers.logits) {
        routing = softmax(logits, false);
        selected = topk(routing, routers.experts_per_token);
        mask.defined() ? count_masked(routing, selected.indices, count, mask, sums)
                       : count_all(routing, selected.indices, count, sums);
    }
    const auto per_row = [&](const Tensor& sum) { return mask.defined() ? div(sum, sums.rows) : div(sum, 1); };
    const Tensor tokens = per_row(sums.tokens);
    const Tensor probabilities = per_row(sums.probabilities);
    const Tensor whole = [&] {
        const Tensor product = mul(tokens, unsqueeze(probabilities, 0));
        return sum_all(product);
    }();
    return mul(whole, 1.0);
}

}  // namespace vramfit::model
