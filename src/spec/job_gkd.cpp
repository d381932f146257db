// Job files: what trl's GKDConfig adds to `training`, 1.16.0 trl/experimental/gkd/gkd_config.py.
#include <fmt/format.h>

#include "spec/job_read.hpp"

namespace vramfit {

namespace {

constexpr IntegerRange kTokensOfGeneration = {.low = 1, .high = std::int64_t{1} << 31};

/// What memory does not depend on, of SFTConfig too; rows come from GKDTrainer's collator.
constexpr std::string_view kIgnoredByGkd[] = {
    "teacher_model_name_or_path", "teacher_model_init_kwargs",    "dataset_kwargs", "dataset_text_field", "eos_token",
    "packing_strategy",           "average_tokens_across_devices"};
constexpr RefusedKey kRefusedByGkd[] = {
    {"packing", "packed rows in distillation are not supported"},
    {"padding_free", "flattened batches in distillation are not supported"},
    {"chat_template_path", "a template from elsewhere may bring tokens and resize the embedding"},
};

}  // namespace

void read_gkd(ObjectReader& training, DistillationPlan& plan) {
    constexpr RealRange kShare = {.low = 0, .high = 1};
    ObjectReader::set(plan.lmbda, training.real("lmbda", kShare));
    ObjectReader::set(plan.beta, training.real("beta", kShare));
    ObjectReader::set(plan.max_new_tokens, training.integer("max_new_tokens", kTokensOfGeneration));
    if (const auto temperature = training.real("temperature", {})) plan.has_temperature = *temperature != 1;
    ObjectReader::set(plan.seq_kd, training.boolean("seq_kd"));
    judge_others(training, kRefusedByGkd, kIgnoredByGkd);
}

void put_gkd(const DistillationPlan& plan, JsonValue& arguments) {
    arguments.put("lmbda", JsonValue::of(plan.lmbda));
    arguments.put("beta", JsonValue::of(plan.beta));
    arguments.put("max_new_tokens", JsonValue::of(plan.max_new_tokens));
    arguments.put("temperature", JsonValue::of(plan.has_temperature ? 0.9 : 1.0));
    if (plan.seq_kd) arguments.put("seq_kd", JsonValue::of(true));
}

}  // namespace vramfit
