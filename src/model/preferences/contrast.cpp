// trl 1.9 and 1.16 experimental/orpo/orpo_trainer.py and cpo/cpo_trainer.py: concatenated_forward,
// get_batch_loss_metrics.
#include "model/preferences/contrast.hpp"

#include <optional>
#include <vector>

#include "engine/autocast.hpp"
#include "engine/ops/copy.hpp"
#include "engine/ops/in_place.hpp"
#include "engine/ops/loss.hpp"
#include "engine/ops/pointwise.hpp"
#include "engine/ops/reduce.hpp"
#include "engine/ops/sum.hpp"
#include "engine/ops/unary.hpp"
#include "engine/ops/view.hpp"
#include "model/causal_lm/mixed_precision.hpp"
#include "model/preferences/contrast_rows.hpp"
#include "model/preferences/dpo_terms.hpp"
#include "model/preferences/metrics.hpp"
#include "model/preferences/rows.hpp"
#include "model/preferences/scores.hpp"
#include "model/preferences/whole_logits.hpp"

namespace vramfit::model {

using namespace engine;

namespace {

bool is_orpo(const Run& run) { return run.plan.loop.kind == LoopKind::orpo; }

/// torch.where(condition, labels, number): the number is a tensor on the device.
Tensor where_or_number(const Tensor& condition, const Tensor& labels) {
    const Tensor number = empty(labels.session(), {}, labels.dtype(), Op::scalar_tensor);
    return where(condition, labels, number);
}

/// The labels of the likelihood: ORPO scores prompts too.
Tensor likelihood_labels(const Run& run, const PutTogether& rows) {
    if (!is_orpo(run)) return clone(rows.labels);
    const Tensor labels = clone(rows.input_ids);
    const Tensor is_token = compare(Op::eq, rows.attention_mask);
    return where_or_number(is_token, labels);
}

/// cross_entropy_loss(all_logits[:len_chosen], labels[:len_chosen]).
Tensor likelihood_of(const Run& run, const Tensor& logits, const Tensor& labels) {
    if (!is_orpo(run) && !run.plan.preference.adds_likelihood)
        return to_device(host_tensor(run.session, {}, DType::float32));
    const Size pairs = pairs_of(run), length = logits.size(1), words = logits.size(2);
    const Tensor of_chosen = slice(logits, 0, 0, pairs);
    const Tensor predicted = contiguous(slice(of_chosen, 1, 0, length - 1));
    const Tensor targets = contiguous(shifted(slice(labels, 0, 0, pairs)));
    const Size tokens = pairs * (length - 1);
    return cross_entropy(view(predicted, {tokens, words}), view(targets, {tokens}));
}

/// get_batch_logps: [2 B].
Tensor row_log_probs(const Run& run, const Tensor& logits, const Tensor& given) {
    const Size length = logits.size(1);
    Tensor labels = clone(shifted(given));
    const Tensor predicted = slice(logits, 1, 0, length - 1);
    const Tensor mask = compare(Op::ne, labels);
    {
        const Tensor is_none = compare(Op::eq, labels);
        if (is_orpo(run)) labels = where_or_number(is_none, labels);  // CPOTrainer fills in place
    }
    const Tensor log_probs = selective_log_softmax(predicted, labels);
    const Tensor sum = sum_over(mul(log_probs, mask), 1, false);
    const ContrastLoss loss = run.plan.preference.contrast_loss;
    if (!is_orpo(run) && loss != ContrastLoss::ipo && loss != ContrastLoss::simpo) return sum;
    return div(sum, tokens_of_rows(mask));
}

/// log1mexp(x).
Tensor log_of_complement(const Tensor& x) {
    const Tensor is_small = compare(Op::lt, x);
    const Tensor small = log1p(neg(exp(x)));
    const Tensor large = log(neg(expm1(x)));
    return where(is_small, small, large);
}

/// What a pair's loss is made of; its variables live as the function's do.
struct Contrast {
    Tensor losses, chosen_rewards, rejected_rewards, mean_ratio, mean_log_odds;
};

void add_contrast_rewards(const Tensor& chosen, const Tensor& rejected, Contrast& out) {
    out.chosen_rewards = mul(detach(chosen), 1.0);
    out.rejected_rewards = mul(detach(rejected), 1.0);
}

Contrast odds_ratio_of(const Tensor& given_chosen, const Tensor& given_rejected) {
    const Tensor chosen = to(given_chosen, DType::float32), rejected = to(given_rejected, DType::float32);
    const Tensor log_odds = [&] {
        const Tensor difference = sub(chosen, rejected);
        const Tensor of_complements = [&] {
            const Tensor first = log_of_complement(chosen);
            return sub(first, log_of_complement(rejected));
        }();
        return sub(difference, of_complements);
    }();
    const Tensor ratio = log_sigmoid(log_odds);
    Contrast out;
    out.losses = mul(ratio, 1.0);
    add_contrast_rewards(chosen, rejected, out);
    out.mean_ratio = mean_all(ratio);
    out.mean_log_odds = mean_all(log_odds);
    return out;
}

Contrast pair_contrast(const Run& run, const Tensor& chosen, const Tensor& rejected) {
    Contrast out;
    Tensor logits = sub(chosen, rejected);
    switch (run.plan.preference.contrast_loss) {
        case ContrastLoss::simpo:
            logits = sub(logits, 1.0);
            out.losses = smoothed_losses(logits);
            break;
        case ContrastLoss::sigmoid: out.losses = smoothed_losses(logits); break;
        case ContrastLoss::hinge: out.losses = relu(subtracted_from_number(mul(logits, 1.0))); break;
        case ContrastLoss::ipo: out.losses = square(sub(logits, 1.0)); break;
    }
    add_contrast_rewards(chosen, rejected, out);
    return out;
}

struct ContrastScores {
    Tensor chosen, rejected, logits, likelihood, aux_loss;
};

ContrastScores contrast_scores(const Run& run, const Network& network, const Batch& inputs, const Place& place) {
    const bool by_swift = by_ms_swift(run.plan);
    PutTogether rows =
        by_swift ? PutTogether{inputs.input_ids, inputs.attention_mask, inputs.labels} : put_together(run, inputs);
    Batch batch;
    batch.input_ids = rows.input_ids;
    batch.attention_mask = rows.attention_mask;
    const Output outputs = prepared_forward(run, network, batch, {}, place);
    begin_loss(run, place);
    // ms-swift 4.6 rlhf_trainers/rlhf_mixin.py concatenated_forward: "Pass-through labels".
    if (by_swift) rows.input_ids = rows.labels;
    ContrastScores out;
    out.logits = outputs.logits;
    out.aux_loss = outputs.aux_loss;
    const Tensor labels = likelihood_labels(run, rows);
    out.likelihood = likelihood_of(run, out.logits, labels);
    const Tensor all = row_log_probs(run, out.logits, rows.labels);
    out.chosen = slice(all, 0, 0, pairs_of(run));
    out.rejected = slice(all, 0, pairs_of(run), all.size(0));
    return out;
}

/// ORPOTrainer reads its metrics at the end, CPOTrainer each as it is there.
class ContrastMetrics {
  public:
    explicit ContrastMetrics(bool waits) : waits_(waits) {}
    void mean(const Tensor& t) {
        const Tensor value = mean_all(detach(t));
        if (waits_)
            values_.push_back(value);
        else
            read_item(value);
    }
    void read() {
        for (const Tensor& value : values_) read_item(value);
    }

  private:
    bool waits_;
    std::vector<Tensor> values_;
};

/// Means over the logits of one half, of ORPO without the last place.
void mean_half_logits(const Run& run, const Tensor& logits, const Size& begin, ContrastMetrics& metrics) {
    Tensor half = slice(detach(logits), 0, begin, begin + pairs_of(run));
    if (is_orpo(run)) half = slice(half, 1, 0, half.size(1) - 1);
    metrics.mean(mean_all(half));
}

void log_contrast(const Run& run, const ContrastScores& scores, const Contrast& pairs, const Tensor& accuracies) {
    ContrastMetrics metrics(is_orpo(run));
    for (const Tensor& t : {pairs.chosen_rewards, pairs.rejected_rewards, accuracies}) metrics.mean(t);
    metrics.mean(sub(pairs.chosen_rewards, pairs.rejected_rewards));
    metrics.mean(scores.rejected);
    metrics.mean(scores.chosen);
    mean_half_logits(run, scores.logits, pairs_of(run), metrics);
    mean_half_logits(run, scores.logits, 0, metrics);
    metrics.mean(scores.likelihood);
    if (is_orpo(run))
        for (const Tensor& t : {pairs.mean_ratio, pairs.mean_log_odds}) metrics.mean(t);
    metrics.read();
}

}  // namespace

Tensor contrast_loss(const Run& run, const Network& network, const Batch& batch, const Place& place) {
    // autocast(device_type) without a dtype; casts made in the model's own scope live until this one ends.
    std::optional<AutocastScope> outer;
    if (run.plan.trl_casting_to_bf16) outer.emplace(run.session, true, DType::float16);
    const ContrastScores scores = contrast_scores(run, network, batch, place);
    const Contrast pairs = is_orpo(run) ? odds_ratio_of(scores.chosen, scores.rejected)
                                        : pair_contrast(run, scores.chosen, scores.rejected);
    Tensor loss = [&] {
        const Tensor mean = mean_all(pairs.losses);
        return is_orpo(run) ? sub(scores.likelihood, mean) : add(mean, mul(scores.likelihood, 1.0));
    }();
    const Tensor accuracies = [&] {
        const Tensor higher = compare(Op::gt, pairs.chosen_rewards, pairs.rejected_rewards);
        return to(higher, DType::float32);
    }();
    log_contrast(run, scores, pairs, accuracies);
    if (scores.aux_loss.defined()) add_in_place(loss, mul(scores.aux_loss, 1.0));
    return loss;
}

// CPOTrainer.__init__, ORPOTrainer.__init__.
void prepare_contrast(TrainPlan& plan) {
    if (!plan.trl_makes_adapters) return;
    plan.prepare_kbit.reset();  // what is done before has been done
    if (!plan.peft || !plan.load.quantization) return;
    PreparePlan& prepare = plan.prepare_kbit.emplace();
    prepare.use_gradient_checkpointing = plan.training.gradient_checkpointing;
    prepare.use_reentrant = plan.training.use_reentrant;
    const bool four = plan.load.quantization->method != QuantMethod::int8;
    plan.trl_casting_to_bf16 = plan.training.bf16 && four;
}

}  // namespace vramfit::model
