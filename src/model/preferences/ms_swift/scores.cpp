// ms-swift 4.6 rlhf_trainers/dpo_trainer.py DPOTrainer.concatenated_forward, kto_trainer.py KTOTrainer.forward;
// rlhf_mixin.py get_per_token_logps; trainers/mixin.py prepare_logits_to_keep.
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
#include "model/preferences/reference.hpp"
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

/// What the network is given, and the labels of the tokens whose logits are kept.
struct KeptRows {
    Batch given;
    Tensor labels;
};

/// torch.nn.functional.pad by one place.
Tensor padded_by_one(const Tensor& t) {
    Dims sizes = t.sizes();
    sizes[sizes.size() - 1] = t.size(-1) + 1;
    return empty(t.session(), sizes, t.dtype(), Op::constant_pad_nd);
}

/// Of one row the tokens that are scored, and the one before them.
void keep_scored(const Run& run, const Tensor& labels, KeptRows& out) {
    const Size scored = scored_tokens(run), length = run.sizes.length;
    const Tensor mask = view(compare(Op::ne, labels), {length});
    out.labels = view(index_by_mask(view(labels, {length}), mask, scored), {1, scored});
    out.labels = padded_by_one(out.labels);
    out.given.kept = padded_by_one(slice(mask, 0, 1, length));
    out.given.logits_to_keep = scored + 1;
}

KeptRows kept_rows(const Run& run, const Batch& rows) {
    KeptRows out;
    out.given.input_ids = rows.input_ids;
    out.given.attention_mask = rows.attention_mask;
    if (run.session.decide("there is one row", run.sizes.batch == 1)) {
        keep_scored(run, rows.labels, out);
        return out;
    }
    read_first_label(rows.labels);
    out.given.logits_to_keep = kept_tokens(run);
    out.labels = slice(rows.labels, 1, run.sizes.length - *out.given.logits_to_keep, run.sizes.length);
    return out;
}

/// What get_per_token_logps gives, [R, K] each; over the vocabulary it takes means or sums.
struct PerToken {
    Tensor log_probs, logits, mask;
};

enum class OverWords : std::uint8_t { mean, sum };

PerToken per_token(const Tensor& logits, const Tensor& given, OverWords reduction) {
    PerToken out;
    out.mask = compare(Op::ne, given);
    const Tensor labels = clone(given);
    (void)compare(Op::bitwise_not, out.mask);  // labels[~loss_mask] = 0 fills in place
    const Tensor reduced = reduction == OverWords::mean ? mean_last(logits) : sum_over(logits, 2, true);
    out.log_probs = completion_log_probs(logits, labels, out.mask, Op::bitwise_not);
    out.logits = fill_squeezed(reduced, compare(Op::bitwise_not, out.mask));
    return out;
}

}  // namespace

SwiftScores swift_scores(const Run& run, const Network& network, const Batch& rows, const Place& place,
                         bool is_reference, const ForwardWrapper& wrapper) {
    const KeptRows kept = kept_rows(run, rows);
    if (wrapper.before) wrapper.before();
    Output output = prepared_forward(run, network, kept.given, {}, place);
    if (!run.session.recorder.holds_phase) begin_loss(run, place);
    Tensor* const outputs[] = {&output.logits};
    if (wrapper.after) wrapper.after(output.logits, outputs);
    const Tensor labels = rolled(kept.labels);
    const PerToken tokens = per_token(output.logits, labels, OverWords::mean);
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
    out.chosen_logits = mean_of(first_half(tokens.logits), first_mask, chosen);
    out.rejected_logits = mean_of(second_half(tokens.logits), second_mask, rejected);
    out.chosen_tokens = first_half(counts);
    out.rejected_tokens = second_half(counts);
    return out;
}

SwiftSums swift_sums(const Run& run, const Network& network, const Batch& rows, const Place& place,
                     const std::optional<Phase>& forward) {
    KeptRows kept = kept_rows(run, rows);
    SwiftSums out;
    {
        std::optional<WithinPhase> phase;
        if (forward) phase.emplace(run.session, *forward);
        out.output = prepared_forward(run, network, kept.given, {}, place);
    }
    if (!run.session.recorder.holds_phase) begin_loss(run, place);
    const Tensor labels = rolled(kept.labels);
    const PerToken tokens = per_token(out.output.logits, labels, OverWords::sum);
    out.log_probs = sum_over(tokens.log_probs, 1, false);
    out.logits = sum_over(tokens.logits, 1, false);
    return out;
}

}  // namespace vramfit::model
