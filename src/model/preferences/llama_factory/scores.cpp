// LLaMA-Factory 0.9.5 train/trainer_utils.py get_batch_logps, nested_detach.
#include "model/preferences/llama_factory/scores.hpp"

#include "engine/ops/copy.hpp"
#include "engine/ops/index.hpp"
#include "engine/ops/pointwise.hpp"
#include "engine/ops/shape.hpp"
#include "engine/ops/softmax.hpp"
#include "engine/ops/sum.hpp"
#include "engine/ops/view.hpp"
#include "model/causal_lm/mixed_precision.hpp"
#include "model/preferences/scores.hpp"
#include "model/preferences/whole_logits.hpp"

namespace vramfit::model {

using namespace engine;

namespace {

void sum_log_probs(const Tensor& given, RowScores& out) {
    const Tensor labels = clone(shifted(given));
    const Tensor mask = compare(Op::ne, labels);
    (void)compare(Op::eq, labels);  // labels[labels == label_pad_token_id] = 0 fills in place
    const Tensor log_probs = [&] {
        const Tensor all = log_softmax(slice(out.logits, 1, 0, out.logits.size(1) - 1), false);
        return squeeze(gather(all, unsqueeze(labels, 2)), -1);
    }();
    out.tokens = tokens_of_rows(mask);
    out.log_probs = sum_over(mul(log_probs, mask), 1, false);
}

}  // namespace

Batch copied(const Batch& batch) {
    Batch out;
    const auto copy = [](const Tensor& from, Tensor& to) {
        if (from.defined()) to = clone(from);
    };
    copy(batch.input_ids, out.input_ids);
    copy(batch.attention_mask, out.attention_mask);
    copy(batch.labels, out.labels);
    copy(batch.kl_input_ids, out.kl_input_ids);
    copy(batch.kl_attention_mask, out.kl_attention_mask);
    copy(batch.kl_labels, out.kl_labels);
    copy(batch.desirable, out.desirable);
    return out;
}

RowScores row_scores(const Run& run, const Network& network, const Batch& rows, const Place& place) {
    Batch given;
    given.input_ids = rows.input_ids;
    given.attention_mask = rows.attention_mask;
    RowScores out;
    {
        const Output output = prepared_forward(run, network, given, {}, place);
        if (!run.session.recorder.holds_phase) begin_loss(run, place);
        out.logits = to(output.logits, DType::float32);
    }
    sum_log_probs(rows.labels, out);
    return out;
}

}  // namespace vramfit::model
