// ms-swift 4.6 rlhf_trainers/dpo_trainer.py DPOTrainer.concatenated_forward; rlhf_mixin.py get_per_token_logps;
// trainers/mixin.py prepare_logits_to_keep.
#include "model/preferences/ms_swift/scores.hpp"

#include <algorithm>

#include "engine/ops/copy.hpp"
#include "engine/ops/in_place.hpp"
#include "engine/ops/index.hpp"
#include "engine/ops/nonzero.hpp"
#include "engine/ops/pointwise.hpp"
#include "engine/ops/reduce.hpp"
#include "engine/ops/sum.hpp"
#include "engine/ops/unary.hpp"
#include "engine/ops/view.hpp"
#include "model/causal_lm/mixed_precision.hpp"
#include "model/preferences/metrics.hpp"
#include "model/preferences/rows.hpp"
#include "model/preferences/whole_logits.hpp"

namespace vramfit::model {

using namespace engine;

namespace {

/// From the token before the first completion on: labels.shape[-1] - first + 1.
Size kept_tokens(const Run& run) {
    const std::vector<std::int64_t>& prompts = run.plan.batch.pairs.prompt;
    return run.sizes.length - *std::min_element(prompts.begin(), prompts.end()) + 1;
}

/// (labels != -100).int().argmax(-1).min().item().
void read_first_label(const Tensor& labels) {
    const Tensor first = [&] {
        const Tensor numbers = [&] {
            const Tensor scored = compare(Op::ne, labels);
            return to(scored, DType::int32);
        }();
        return argmax_last(numbers);
    }();
    constexpr DimMask kAll = 1;
    read_item(reduce(first, kAll, false, DType::int64, Op::min));
}

/// torch.roll(labels, -1, 1), of a dense copy.
Tensor rolled(const Tensor& labels) {
    const Tensor dense = contiguous(labels);
    return empty(labels.session(), labels.sizes(), labels.dtype(), Op::roll);
}

/// What get_per_token_logps gives, [2 B, K] each.
struct PerToken {
    Tensor log_probs, mean_logits, mask;
};

PerToken per_token(const Tensor& logits, const Tensor& given) {
    PerToken out;
    out.mask = compare(Op::ne, given);
    const Tensor labels = clone(given);
    (void)compare(Op::bitwise_not, out.mask);  // labels[~loss_mask] = 0 fills in place
    const Tensor means = mean_last(logits);
    out.log_probs = completion_log_probs(logits, labels, out.mask, Op::bitwise_not);
    out.mean_logits = fill_squeezed(means, compare(Op::bitwise_not, out.mask));
    return out;
}

}  // namespace

SwiftScores swift_scores(const Run& run, const Network& network, const Batch& rows, const Place& place,
                         bool is_reference) {
    Batch given;
    given.input_ids = rows.input_ids;
    given.attention_mask = rows.attention_mask;
    read_first_label(rows.labels);
    given.logits_to_keep = kept_tokens(run);
    Tensor labels = slice(rows.labels, 1, run.sizes.length - *given.logits_to_keep, run.sizes.length);
    const Output output = prepared_forward(run, network, given, {}, place);
    if (!run.session.recorder.holds_phase) begin_loss(run, place);
    labels = rolled(labels);
    const PerToken tokens = per_token(output.logits, labels);
    const auto first_half = [&](const Tensor& t) { return slice(t, 0, 0, pairs_of(run)); };
    const auto second_half = [&](const Tensor& t) { return slice(t, 0, pairs_of(run), run.sizes.batch); };
    const auto mean_of = [&](const Tensor& values, const Tensor& mask, const Size& count) {
        return mean_all(index_by_mask(values, mask, count));
    };
    const Tensor counts = tokens_of_rows(tokens.mask);
    SwiftScores out;
    const Tensor first_mask = first_half(tokens.mask), second_mask = second_half(tokens.mask);
    const Size chosen = chosen_tokens(run), rejected = scored_tokens(run) - chosen;
    if (!is_reference) out.likelihood = neg(mean_of(first_half(tokens.log_probs), first_mask, chosen));
    const Tensor log_probs = sum_over(tokens.log_probs, 1, false);
    out.chosen = first_half(log_probs);
    out.rejected = second_half(log_probs);
    out.chosen_logits = mean_of(first_half(tokens.mean_logits), first_mask, chosen);
    out.rejected_logits = mean_of(second_half(tokens.mean_logits), second_mask, rejected);
    out.chosen_tokens = first_half(counts);
    out.rejected_tokens = second_half(counts);
    return out;
}

}  // namespace vramfit::model
