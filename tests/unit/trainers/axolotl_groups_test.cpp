// GRPO in axolotl's files.
#include <string>

#include "support/catch.hpp"
#include "unit/trainers/asked.hpp"
#include "vramfit/base/error.hpp"
#include "vramfit/trainers/reading.hpp"

using namespace vramfit;
using test::asked_of;

namespace {

Reading axolotl_groups(const std::string& text) {
    TrainerQuestion question = asked_of({{"f.yml", text}});
    question.prompt = 100;
    return read_trainer_files(question);
}

TrainPlan axolotl_group_plan(const std::string& text) {
    const Reading reading = axolotl_groups(text);
    INFO(text);
    CHECK(reading.refusals.empty());
    return reading.job.plan;
}

/// The key at which reading stops, and whether it is a mistake.
std::string axolotl_group_stop(const std::string& text) {
    try {
        const Reading reading = axolotl_groups(text);
        return reading.refusals.empty() ? "" : "refused " + reading.refusals.front().key;
    } catch (const Error& error) {
        return "invalid " + error.problems().front().where;
    }
}

const std::string kGroupBase =
    "base_model: llama-3.2-1b\ndatasets: []\nsequence_len: 512\nbf16: true\nmicro_batch_size: 4\nrl: grpo\n";
const std::string kGroupAdapter = "adapter: lora\nlora_r: 8\nlora_target_linear: true\n";
const std::string kGroupKeys =
    "trl:\n  num_generations: 4\n  max_completion_length: 64\n  reward_funcs: [mine.right, mine.short]\n";

}  // namespace

// axolotl 0.19 core/trainers/grpo/__init__.py GRPOStrategy.set_training_args_kwargs.
TEST_CASE("axolotl's rl grpo takes its arguments from trl") {
    const TrainPlan plan = axolotl_group_plan(kGroupBase + kGroupAdapter + kGroupKeys);
    const GrpoPlan& grpo = plan.preference.grpo;
    CHECK(plan.loop.kind == LoopKind::grpo);
    CHECK(plan.preference.maker == TrainerMaker::trl);
    CHECK_FALSE(plan.trl_makes_adapters);  // load_adapter
    CHECK(plan.preference.reference_source == ReferenceSource::trainer);
    CHECK(grpo.num_generations == 4);
    CHECK(grpo.reward_functions == 2);
    CHECK(grpo.loss == GroupLoss::dapo);
    CHECK(grpo.scale == RewardScale::group);
    CHECK_FALSE(grpo.has_reference);
    CHECK_FALSE(grpo.corrects_divergence.has_value());
    CHECK(plan.batch.sequence_length == 164);
    const std::string more = kGroupBase + kGroupAdapter + kGroupKeys;
    const GrpoPlan other = axolotl_group_plan(more +
                                              "  loss_type: dr_grpo\n  scale_rewards: false\n  temperature: 0.7\n"
                                              "  importance_sampling_level: sequence\n  num_iterations: 2\n"
                                              "  generation_batch_size: 8\n  top_k: 20\n  top_p: 0.9\n")
                               .preference.grpo;
    CHECK(other.loss == GroupLoss::dr_grpo);
    CHECK(other.scale == RewardScale::none);
    CHECK(other.has_temperature);
    CHECK(other.level == SamplingLevel::sequence);
    CHECK(other.num_iterations == 2);
    CHECK(other.steps_per_generation == 2);
    CHECK(other.top_k == 20);
    CHECK(other.has_top_p);
}

TEST_CASE("axolotl's rl grpo without an adapter loads a reference that nobody uses") {
    const std::string full = kGroupBase + "flash_attention: true\n" + kGroupKeys;
    CHECK(axolotl_group_plan(full).preference.reference_source == ReferenceSource::unused);
    CHECK(axolotl_group_plan(full + "  beta: 0.04\n").preference.grpo.has_reference);
    CHECK(axolotl_group_plan(full + "rl_beta: 0.04\n").preference.grpo.has_reference);
}

TEST_CASE("vLLM in axolotl's files is a server where nothing is said") {
    const std::string lora = kGroupBase + kGroupAdapter + kGroupKeys;
    const GrpoPlan grpo = axolotl_group_plan(lora +
                                             "  use_vllm: true\n  vllm_mode: colocate\n"
                                             "vllm:\n  gpu_memory_utilization: 0.4\n")
                              .preference.grpo;
    CHECK(grpo.vllm_share == 0.4);
    CHECK(axolotl_group_plan(lora + "  use_vllm: true\n").preference.grpo.vllm_on_server);
    CHECK(axolotl_group_stop(lora + "  use_vllm: true\n  vllm_mode: colocate\n  vllm_enable_sleep_mode: true\n") ==
          "refused trl.vllm_enable_sleep_mode");
    CHECK(axolotl_group_stop(lora + "  use_vllm: true\n  vllm_mode: colocate\nvllm:\n  tensor_parallel_size: 2\n") ==
          "refused vllm.tensor_parallel_size");
}

TEST_CASE("what of axolotl's rl grpo is refused") {
    const std::string lora = kGroupBase + kGroupAdapter + kGroupKeys;
    const auto stops = [&](const std::string& line) { return axolotl_group_stop(lora + "  " + line + "\n"); };
    CHECK(stops("beta: 0.04") == "refused trl.beta");  // a copy of the adapters
    CHECK(stops("async_prefetch: true") == "refused trl.async_prefetch");
    CHECK(stops("use_data_producer: true") == "refused trl.use_data_producer");
    CHECK(stops("use_liger_loss: true") == "refused trl.use_liger_loss");
    CHECK(stops("entropy_coef: 0.01") == "refused trl.entropy_coef");
    CHECK(stops("use_adaptive_entropy: true") == "refused trl.use_adaptive_entropy");
    CHECK(stops("multi_objective_aggregation: normalize_then_sum") == "refused trl.multi_objective_aggregation");
    CHECK(stops("off_policy_mask_threshold: 0.5") == "refused trl.off_policy_mask_threshold");
    CHECK(stops("rollout_func: mine.roll") == "refused trl.rollout_func");
    CHECK(stops("epsilon: 0.3") == "");
    CHECK(
        axolotl_group_stop(kGroupBase + kGroupAdapter + "trl:\n  num_generations: 4\n  max_completion_length: 64\n") ==
        "invalid f.yml:10:1 trl.reward_funcs");
    CHECK(axolotl_group_stop(kGroupBase + kGroupAdapter + "trl:\n  num_generations: 4\n  reward_funcs: [a.b]\n") ==
          "invalid f.yml:10:1 trl.max_completion_length");
    CHECK(axolotl_group_stop(kGroupBase + kGroupAdapter +
                             "trl:\n  num_generations: 4\n  max_completion_length: 64\n  reward_funcs: [org/it]\n") ==
          "refused trl.reward_funcs");
    CHECK(axolotl_group_stop(kGroupBase + kGroupAdapter +
                             "trl:\n  num_generations: 3\n  max_completion_length: 64\n  reward_funcs: [a.b]\n")
              .starts_with("invalid f.yml"));
}
