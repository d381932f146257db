// Job files: evaluation, from the arguments in `training` and the key `evaluation`.
#include <fmt/format.h>

#include "spec/job_read.hpp"
#include "vramfit/spec/plan_names.hpp"

namespace vramfit {

namespace {

constexpr IntegerRange kCount = {.low = 1, .high = std::int64_t{1} << 31};
constexpr std::int64_t kMostEvaluated = 1000;  // batches of an evaluation: each is recorded

/// When eval_strategy, or evaluation_strategy up to transformers 4.40, asks for an evaluation; 0: never.
std::int64_t read_strategy(ObjectReader& training) {
    const std::string_view key = training.has("eval_strategy") ? "eval_strategy" : "evaluation_strategy";
    const auto every = training.integer("eval_steps", kCount, Null::absent);
    const auto strategy = training.text(key, Null::absent);
    if (!strategy || *strategy == "no") return 0;
    if (*strategy == "steps") return every.value_or(1);
    if (*strategy == "epoch")
        training.problems().unsupported(training.path(key), "an epoch has no length in a job",
                                        "\"steps\", with eval_steps");
    else
        training.problems().invalid(training.path(key), fmt::format("unknown strategy '{}'", *strategy), "no, steps");
    return 0;
}

}  // namespace

std::optional<EvaluationPlan> read_training_evaluation(ObjectReader& training) {
    EvaluationPlan plan;
    plan.every = read_strategy(training);
    ObjectReader::set(plan.on_start, training.boolean("eval_on_start", Null::absent));
    ObjectReader::set(plan.per_device_eval_batch_size, training.integer("per_device_eval_batch_size", kCount));
    plan.accumulation = training.integer("eval_accumulation_steps", kCount, Null::absent);
    const bool by_batch = training.boolean("batch_eval_metrics", Null::absent).value_or(false);
    if (plan.every == 0 && !plan.on_start) return std::nullopt;
    if (by_batch)
        training.problems().unsupported(training.path("batch_eval_metrics"),
                                        "metrics of each batch keep its logits, which is not supported",
                                        "leave the key out");
    return plan;
}

void read_evaluation(ObjectReader evaluation, std::optional<EvaluationPlan>& plan) {
    const auto batches = evaluation.integer("batches", {.low = 1, .high = kMostEvaluated});
    const auto length = evaluation.integer("sequence_length", kCount, Null::absent);
    const auto mask = evaluation.choice<AttentionMask>("attention_mask", kMaskNames, Null::absent);
    evaluation.refuse_unknown();
    if (!plan) return;
    ObjectReader::set(plan->batches, batches);
    plan->sequence_length = length;
    plan->attention_mask = mask;
}

}  // namespace vramfit
