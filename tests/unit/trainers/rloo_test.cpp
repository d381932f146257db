// Files, launch lines and scripts for trl's RLOOTrainer, which shares most with GRPO's.
#include <string>

#include "support/catch.hpp"
#include "unit/trainers/asked.hpp"
#include "vramfit/base/error.hpp"
#include "vramfit/trainers/reading.hpp"

using namespace vramfit;
using test::asked_of;

namespace {

Reading read_rloo(std::string name, std::string text) {
    TrainerQuestion question = asked_of({{std::move(name), std::move(text)}});
    question.prompt = 100;
    return read_trainer_files(question);
}

/// The key at which reading stops, and whether it is a mistake.
std::string rloo_stops_at(const std::string& name, const std::string& text) {
    try {
        const Reading reading = read_rloo(name, text);
        return reading.refusals.empty() ? "" : "refused " + reading.refusals.front().key;
    } catch (const Error& error) {
        return "invalid " + error.problems().front().where;
    }
}

const std::string kRlooModel = "model_name_or_path: llama-3.2-1b\noutput_dir: out-rloo\nnum_generations: 4\n";

std::string rloo_script(const std::string& config = "", const std::string& config_class = "RLOOConfig") {
    return "from trl import RLOOConfig, RLOOTrainer, GRPOConfig\nfrom peft import LoraConfig\n"
           "def longer(completions, **kwargs):\n    return [float(len(c)) for c in completions]\n"
           "args = " +
           config_class + "(output_dir='o', per_device_train_batch_size=4" + config +
           ")\ntrainer = RLOOTrainer('meta-llama/Llama-3.2-1B', longer, args, "
           "peft_config=LoraConfig(r=4, target_modules='all-linear'))\ntrainer.train()\n";
}

}  // namespace

TEST_CASE("RLOO's files are known by the command, the script, a key of its own or a name") {
    const auto format = [](const std::string& name, const std::string& text) {
        return read_rloo(name, text).files.front().format;
    };
    CHECK(format("a.sh", "trl rloo --model_name_or_path llama-3.2-1b\n") == "trl-rloo");
    CHECK(format("a.sh", "accelerate launch -m trl.scripts.rloo --model_name_or_path llama-3.2-1b\n") == "trl-rloo");
    CHECK(format("a.sh", "python examples/scripts/rloo.py --model_name_or_path llama-3.2-1b\n") == "trl-rloo");
    CHECK(format("f.yaml", kRlooModel) == "trl-rloo");
    CHECK(format("f.yaml", "model_name_or_path: llama-3.2-1b\nnormalize_advantages: true\n") == "trl-rloo");
    CHECK(format("a.py", rloo_script()) == "trl-rloo-script");
    // The RLOOTrainer of releases before 0.22 was another one.
    CHECK(rloo_stops_at("f.yaml", kRlooModel + "rloo_k: 2\nreward_model_path: a/b\n") != "");
}

// trl 1.16.0 trainer/rloo_config.py.
TEST_CASE("RLOOConfig's defaults and arguments") {
    const TrainPlan plan = read_rloo("a.sh", "trl rloo --model_name_or_path llama-3.2-1b\n").job.plan;
    CHECK(plan.loop.kind == LoopKind::rloo);
    CHECK(plan.preference.grpo.num_generations == 2);
    CHECK(plan.preference.grpo.has_reference);
    CHECK(plan.training.bf16);
    CHECK(plan.training.gradient_checkpointing);
    CHECK(plan.batch.sequence_length == 612);
    CHECK(plan.batch.pairs.padded);
    const GrpoPlan other = read_rloo("f.yaml", kRlooModel +
                                                   "beta: 0.0\nnormalize_advantages: true\n"
                                                   "reward_clip_range: [-1, 1]\ntemperature: 0.9\n"
                                                   "steps_per_generation: 4\nepsilon: 0.3\n")
                               .job.plan.preference.grpo;
    CHECK_FALSE(other.has_reference);
    CHECK(other.normalizes_advantages);
    CHECK(other.clips_rewards);
    CHECK(other.has_temperature);
    CHECK(other.steps_per_generation == 4);
}

TEST_CASE("what trl stops at, and what is not predicted of RLOO") {
    CHECK(rloo_stops_at("f.yaml", kRlooModel + "per_device_train_batch_size: 2\n") ==
          "invalid f.yaml:3:1 num_generations");
    CHECK(rloo_stops_at("f.yaml", kRlooModel + "sync_ref_model: true\n") == "");
    CHECK(read_rloo("f.yaml", kRlooModel + "mask_truncated_completions: true\n")
              .job.plan.preference.grpo.masks_truncated);
}

TEST_CASE("RLOOTrainer in a script") {
    const Reading reading = read_rloo("a.py", rloo_script(", max_completion_length=64, beta=0.1"));
    REQUIRE(reading.refusals.empty());
    CHECK(reading.job.plan.loop.kind == LoopKind::rloo);
    CHECK(reading.job.plan.batch.sequence_length == 164);
    REQUIRE(reading.job.plan.peft);
    CHECK(reading.job.plan.peft->r == 4);
    CHECK(reading.job.plan.trl_makes_adapters);
    CHECK(rloo_stops_at("a.py", rloo_script("", "GRPOConfig")) != "");
    CHECK(read_rloo("a.py", rloo_script(", use_vllm=True")).job.plan.preference.grpo.vllm_share == 0.3);
    CHECK(
        read_rloo("a.py", rloo_script(", use_vllm=True, vllm_mode='server'")).job.plan.preference.grpo.vllm_on_server);
}
