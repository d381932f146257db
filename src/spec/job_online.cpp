// Job files: what trl's OnlineDPOConfig adds to `training`, 1.16.0 trl/experimental/online_dpo/online_dpo_config.py.
#include "spec/job_read.hpp"
#include "vramfit/spec/plan_names.hpp"

namespace vramfit {

namespace {

/// What memory does not depend on.
constexpr std::string_view kIgnoredByOnline[] = {"beta",
                                                 "reward_model_path",
                                                 "reward_weights",
                                                 "trust_remote_code",
                                                 "ds3_gather_for_generation",
                                                 "vllm_model_impl",
                                                 "vllm_structured_outputs_regex",
                                                 "vllm_gpu_memory_utilization",
                                                 "vllm_mode",
                                                 "vllm_server_base_url",
                                                 "vllm_server_host",
                                                 "vllm_server_port",
                                                 "vllm_server_timeout",
                                                 "vllm_group_port",
                                                 "vllm_tensor_parallel_size",
                                                 "vllm_enable_sleep_mode",
                                                 "remove_unused_columns"};
constexpr RefusedKey kRefusedByOnline[] = {
    {"use_vllm", "generation by vLLM in online DPO is not supported"},
    {"missing_eos_penalty", "a penalty for completions without an end is not supported"},
    {"cache_implementation", "another cache of keys and values is not supported"},
    {"generation_kwargs", "further arguments of generation are not supported"},
};

}  // namespace

void read_online(ObjectReader& training, PreferencePlan& plan) {
    GrpoPlan& how = plan.grpo;
    if (const auto loss = training.choice<PairLoss>("loss_type", kOnlineLossNames)) plan.loss_types = {*loss};
    ObjectReader::set(*how.max_completion_length,
                      training.integer("max_new_tokens", {.low = 1, .high = std::int64_t{1} << 31}));
    if (const auto temperature = training.real("temperature", {})) how.has_temperature = *temperature != 1;
    if (const auto penalty = training.real("repetition_penalty", {})) how.penalizes_repetition = *penalty != 1;
    ObjectReader::set(how.top_k, training.integer("top_k", {.low = 0}, Null::absent));
    if (const auto share = training.real("top_p", {.low = 0, .high = 1})) how.has_top_p = *share < 1;
    if (training.has("min_p")) how.has_min_p = training.real("min_p", {.low = 0, .high = 1}, Null::absent).has_value();
    judge_others(training, kRefusedByOnline, kIgnoredByOnline);
}

void put_online(const TrainPlan& plan, JsonValue& arguments) {
    const GrpoPlan& how = plan.preference.grpo;
    arguments.put("loss_type", JsonValue::of(name_of(plan.preference.loss_types.front())));
    arguments.put("max_new_tokens", JsonValue::of(how.max_completion_length.value_or(1)));
    arguments.put("temperature", JsonValue::of(how.has_temperature ? 0.9 : 1.0));
    if (how.penalizes_repetition) arguments.put("repetition_penalty", JsonValue::of(1.1));
    if (how.top_k > 0) arguments.put("top_k", JsonValue::of(how.top_k));
    if (how.has_top_p) arguments.put("top_p", JsonValue::of(0.9));
    if (how.has_min_p) arguments.put("min_p", JsonValue::of(0.1));
    if (!plan.preference.disable_dropout) arguments.put("disable_dropout", JsonValue::of(false));
}

}  // namespace vramfit
