// trl 1.16 trainer/sft_trainer.py compute_loss.
#include "model/loops/sft_loss.hpp"

#include <algorithm>

#include "engine/autocast.hpp"
#include "engine/ops/pointwise.hpp"
#include "engine/ops/reduce.hpp"
#include "engine/session.hpp"
#include "model/causal_lm/fused_head.hpp"
#include "model/causal_lm/mixed_precision.hpp"
#include "model/parallel/collectives.hpp"
#include "model/parallel/context/context_parallel.hpp"

namespace vramfit::model {

using namespace engine;

namespace {

bool is_padded(const Run& run) { return run.plan.batch.attention_mask == AttentionMask::right_padded; }

/// Places at the end of the first row that the job leaves to the collator: an eighth, at least one.
Size padding_of(const Run& run) { return is_padded(run) ? std::max<Size>(1, run.sizes.length / 8) : Size(0); }

/// How many positions have a label: all but one of each row, less the padded ones.
Size labelled(const Run& run) {
    const std::optional<Ring> ring = ring_of(run.plan);
    if (!ring) return run.sizes.batch * (run.sizes.length - 1) - padding_of(run);
    // One of 2 N parts from the front and one from the back, whose last position has no label.
    const Size part = run.sizes.length / (2 * ring->size);
    const auto without = [&](const Size& missing) {
        Size seen = std::min(part, std::max<Size>(0, missing - part * ring->rank));
        return seen + std::min(part, std::max<Size>(0, missing - part * (2 * ring->size - 1 - ring->rank)));
    };
    return run.sizes.batch * 2 * part - (run.sizes.batch - 1) * without(1) - without(padding_of(run) + 1);
}

/// gather_for_metrics(t.sum()).sum(); one process gathers nothing.
Tensor gathered_sum(const Run& run, const Tensor& t) {
    if (!run.plan.distributed) return sum_all(sum_all(t));
    const Tensor gathered = gather_scalar(sum_all(t), run.plan.distributed->world_size);
    return sum_all(gathered);
}

/// The conditional reads whether any label is there, and divides if so.
void read_share(const Run& run, const Tensor& part, const Tensor& all) {
    Streams& streams = run.session.streams;
    {
        const Tensor any = compare(Op::gt, all);
        streams.host_waits(0);
    }
    if (is_padded(run)) return;
    const Tensor share = div(part, all);
    streams.host_waits(0);
}

/// gather_for_metrics(aux_loss).mean().item().
void read_balance(const Run& run, const Tensor& aux_loss) {
    const Tensor alone = detach(aux_loss);
    const Tensor mean = mean_all(run.plan.distributed ? gather_scalar(alone, run.plan.distributed->world_size) : alone);
    run.session.streams.host_waits(0);
}

}  // namespace

Tensor sft_loss(const Run& run, const Network& network, const Batch& batch, const Tensor& items, const Place& place,
                const ForwardWrapper& wrapper) {
    if (wrapper.before) wrapper.before();
    FusedOutput outputs;
    {
        std::optional<AutocastScope> autocast;
        if (const auto dtype = prepared_dtype(run.plan)) autocast.emplace(run.session, true, *dtype);
        outputs = fused_forward(run, network, batch, labelled(run), {.entropy = true, .is_top1 = true}, place);
    }
    if (wrapper.after) {
        wrapper.after(outputs.log_probs, outputs.all());
    }
    const Tensor per_token_loss = neg(outputs.log_probs);
    Tensor loss;
    {
        const Tensor number = items.defined() ? items : sum_all(outputs.label_mask);
        const Tensor sum = sum_all(per_token_loss);
        loss = div(sum, clamp(number));
    }
    Tensor weighted;
    if (outputs.aux_loss.defined()) weighted = mul(outputs.aux_loss, 1.0);
    if (items.defined()) loss = mul(loss, 1);
    if (weighted.defined()) loss = add(loss, div(weighted, 1));
    const Tensor num_valid = gathered_sum(run, outputs.label_mask);
    const Tensor entropy_sum = gathered_sum(run, detach(outputs.entropy));
    const Tensor num_correct = gathered_sum(run, outputs.is_top1);
    read_share(run, entropy_sum, num_valid);
    read_share(run, num_correct, num_valid);
    if (run.session.training) {
        const Tensor tokens = gathered_sum(run, batch.attention_mask);
        run.session.streams.host_waits(0);
    }
    if (outputs.aux_loss.defined()) read_balance(run, outputs.aux_loss);
    return loss;
}

}  // namespace vramfit::model
