// Job files: what trl's PPOConfig adds to `training`, 1.9.0 trl/experimental/ppo/ppo_config.py, and its rows.
#include <algorithm>

#include "spec/job_read.hpp"

namespace vramfit {

namespace {

constexpr IntegerRange kTokensOfResponse = {.low = 1, .high = std::int64_t{1} << 31};
constexpr IntegerRange kCountOfPpo = {.low = 1, .high = std::int64_t{1} << 20};
constexpr std::int64_t kPromptByDefault = 32;  // tools/trace/vramfit_trace/job.py BATCHES

/// What memory does not depend on: the logits are always divided by temperature + 1e-7.
constexpr std::string_view kIgnoredByPpo[] = {"temperature",
                                              "kl_coef",
                                              "cliprange",
                                              "vf_coef",
                                              "cliprange_value",
                                              "gamma",
                                              "lam",
                                              "exp_name",
                                              "sft_model_path",
                                              "reward_model_path",
                                              "total_episodes",
                                              "num_total_batches",
                                              "world_size",
                                              "batch_size",
                                              "micro_batch_size",
                                              "local_batch_size",
                                              "mini_batch_size",
                                              "local_mini_batch_size",
                                              "ds3_gather_for_generation"};
constexpr RefusedKey kRefusedByPpo[] = {
    {"model_adapter_name", "an adapter beside that of the reference is not supported"},
    {"ref_adapter_name", "a reference that is another adapter is not supported"},
    {"stop_token_id", "a token of your own that ends a row is not supported"},
};

}  // namespace

void read_ppo(ObjectReader& training, PpoPlan& plan) {
    ObjectReader::set(plan.num_ppo_epochs, training.integer("num_ppo_epochs", kCountOfPpo));
    ObjectReader::set(plan.num_mini_batches, training.integer("num_mini_batches", kCountOfPpo));
    ObjectReader::set(plan.local_rollout_forward_batch_size,
                      training.integer("local_rollout_forward_batch_size", kCountOfPpo));
    ObjectReader::set(plan.response_length, training.integer("response_length", kTokensOfResponse));
    const JsonValue* stop = training.value("stop_token");
    if (stop && stop->kind != JsonValue::Kind::null) {
        plan.stops = stop->kind == JsonValue::Kind::text && stop->text == "eos";
        if (!plan.stops)
            training.problems().invalid(training.path("stop_token"),
                                        "trl stops: unknown `stop_token`. Allowed values are: `'eos'` and `None`",
                                        "\"eos\", or null");
    }
    plan.has_eos_penalty = training.real("missing_eos_penalty", {}, Null::absent).has_value();
    ObjectReader::set(plan.whitens_rewards, training.boolean("whiten_rewards"));
    if (const auto estimator = training.text("kl_estimator")) {
        plan.is_k3 = *estimator == "k3";
        if (!plan.is_k3 && *estimator != "k1")
            training.problems().invalid(training.path("kl_estimator"), "trl stops: kl_estimator must be 'k1' or 'k3'",
                                        "\"k1\" or \"k3\"");
    }
    if (training.integer("num_sample_generations", {.low = 0}).value_or(0) > 0)
        training.problems().unsupported(training.path("num_sample_generations"),
                                        "completions of an eval_dataset, which trl generates for its log, are not "
                                        "supported",
                                        "0, or no eval_dataset");
    judge_others(training, kRefusedByPpo, kIgnoredByPpo);
}

namespace {

/// As many tokens as the rows leave for it, which an axis of a sweep may have set.
std::int64_t response_length(const TrainPlan& plan) {
    const std::int64_t tokens = plan.batch.sequence_length - plan.batch.pairs.prompt.front();
    const PpoPlan& how = plan.preference.ppo;
    return how.stops ? std::max(tokens, how.response_length) : tokens;
}

}  // namespace

void put_ppo(const TrainPlan& asked, JsonValue& arguments) {
    const PpoPlan& plan = asked.preference.ppo;
    arguments.put("num_ppo_epochs", JsonValue::of(plan.num_ppo_epochs));
    arguments.put("num_mini_batches", JsonValue::of(plan.num_mini_batches));
    arguments.put("local_rollout_forward_batch_size", JsonValue::of(plan.local_rollout_forward_batch_size));
    arguments.put("response_length", JsonValue::of(response_length(asked)));
    if (plan.stops) arguments.put("stop_token", JsonValue::of("eos"));
    if (plan.has_eos_penalty) arguments.put("missing_eos_penalty", JsonValue::of(1.0));
    if (plan.whitens_rewards) arguments.put("whiten_rewards", JsonValue::of(true));
    if (plan.is_k3) arguments.put("kl_estimator", JsonValue::of("k3"));
}

// What a row's end is drawn as; without a stop token rows go on to response_length.
void read_ppo_rows(ObjectReader batch, TrainPlan& plan) {
    PpoPlan& how = plan.preference.ppo;
    PairLengths& pairs = plan.batch.pairs;
    const std::int64_t prompt = batch.integer("prompt_length", kTokensOfResponse).value_or(kPromptByDefault);
    const std::int64_t end =
        batch.integer("completion_length", kTokensOfResponse, Null::absent).value_or(how.response_length);
    ObjectReader::set(pairs.padded, batch.boolean("padded"));
    batch.refuse_unknown();
    how.ends = end <= how.response_length;
    pairs.prompt = {prompt};
    plan.batch.sequence_length = prompt + (how.stops ? std::min(end, how.response_length) : how.response_length);
}

JsonValue ppo_rows_to_json(const TrainPlan& plan) {
    const std::int64_t prompt = plan.batch.pairs.prompt.front();
    const PpoPlan& how = plan.preference.ppo;
    JsonValue out = JsonValue::object();
    out.put("prompt_length", JsonValue::of(prompt));
    out.put("completion_length",
            JsonValue::of(how.ends ? plan.batch.sequence_length - prompt : response_length(plan) + 1));
    if (plan.batch.pairs.padded) out.put("padded", JsonValue::of(true));
    return out;
}

}  // namespace vramfit
