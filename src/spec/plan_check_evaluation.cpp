// Evaluation in the course of training: with which loops and methods it is predicted.
#include <algorithm>

#include <fmt/format.h>

#include "spec/plan_check_parts.hpp"
#include "vramfit/base/checked.hpp"

namespace vramfit {

namespace {

/// The largest tensors of a batch.
void check_size_of_batch(const ModelSpec& model, const EvaluationPlan& evaluation, std::int64_t length,
                         Problems& problems) {
    try {
        const std::int64_t tokens = checked_mul(evaluation.per_device_eval_batch_size, length);
        const std::int64_t widest =
            std::max({model.vocab_size, model.intermediate_size, checked_mul(model.num_attention_heads, length)});
        checked_mul(checked_mul(checked_mul(tokens, widest), 64), model.num_hidden_layers);
    } catch (const Error&) {
        problems.invalid("training.per_device_eval_batch_size",
                         fmt::format("{} rows of {} tokens have more bytes than 63 bits can count",
                                     evaluation.per_device_eval_batch_size, length),
                         "a smaller batch or a shorter sequence");
    }
}

}  // namespace

void check_evaluation(const ModelSpec& model, const TrainPlan& plan, Problems& problems) {
    if (!plan.evaluation) return;
    const EvaluationPlan& evaluation = *plan.evaluation;
    const std::int64_t length = evaluation.sequence_length.value_or(plan.batch.sequence_length);
    if (evaluation.per_device_eval_batch_size < 1 || evaluation.batches < 1 || length < 1)
        problems.invalid("training.per_device_eval_batch_size", "a batch of evaluation has one row or more",
                         "give 1 or more");
    else
        check_size_of_batch(model, evaluation, length, problems);
    if (!uses_trainer(plan))
        problems.unsupported("training.eval_strategy", "a plain loop evaluates as it likes: evaluation is Trainer's",
                             "choose loop.kind trainer, or leave evaluation out");
    if (length > model.max_position_embeddings && length > plan.batch.sequence_length)
        problems.invalid(
            "evaluation.sequence_length",
            fmt::format("{} tokens are more than the model's {} positions", length, model.max_position_embeddings),
            "a shorter sequence");
    if (plan.distributed && !plan.distributed->as<DdpPlan>())
        problems.unsupported("training.eval_strategy",
                             "evaluation of a divided model is not predicted, only on one GPU and under DDP",
                             "leave evaluation out");
    if (plan.loop.kind == LoopKind::sft && plan.evaluation->attention_mask &&
        *evaluation.attention_mask != AttentionMask::ones && *evaluation.attention_mask != AttentionMask::right_padded)
        problems.invalid("evaluation.attention_mask", "trl's collator makes the mask itself", "ones or right_padded");
}

}  // namespace vramfit
