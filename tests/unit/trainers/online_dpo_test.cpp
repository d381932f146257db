// Scripts with trl's OnlineDPOTrainer.
#include <string>

#include "support/catch.hpp"
#include "unit/trainers/asked.hpp"
#include "vramfit/base/error.hpp"
#include "vramfit/trainers/reading.hpp"

using namespace vramfit;
using test::asked_of;

namespace {

Reading read_online(const std::string& text) {
    TrainerQuestion question = asked_of({{"a.py", text}});
    question.prompt = 100;
    return read_trainer_files(question);
}

std::string online_stops_at(const std::string& text) {
    try {
        const Reading reading = read_online(text);
        return reading.refusals.empty() ? "" : "refused " + reading.refusals.front().key;
    } catch (const Error& error) {
        return "invalid " + error.problems().front().where;
    }
}

std::string online_script(const std::string& config = "", const std::string& trainer = "reward_funcs=longer, ") {
    return "from trl.experimental.online_dpo import OnlineDPOConfig, OnlineDPOTrainer\nfrom peft import LoraConfig\n"
           "def longer(completions, **kwargs):\n    return [float(len(c)) for c in completions]\n"
           "args = OnlineDPOConfig(output_dir='o', per_device_train_batch_size=2" +
           config +
           ")\ntrainer = OnlineDPOTrainer(model='meta-llama/Llama-3.2-1B', args=args, train_dataset=dataset, " +
           trainer + "peft_config=LoraConfig(r=4, target_modules='all-linear'))\ntrainer.train()\n";
}

}  // namespace

// trl 1.16.0 experimental/online_dpo/online_dpo_config.py.
TEST_CASE("OnlineDPOTrainer in a script") {
    const Reading reading = read_online(online_script());
    REQUIRE(reading.refusals.empty());
    CHECK(reading.files.front().format == "trl-online-dpo-script");
    const TrainPlan& plan = reading.job.plan;
    CHECK(plan.loop.kind == LoopKind::online_dpo);
    CHECK(plan.batch.sequence_length == 164);
    CHECK(plan.training.max_length == 512);
    CHECK(plan.training.gradient_checkpointing);
    CHECK(plan.preference.grpo.max_completion_length == 64);
    CHECK(plan.preference.grpo.has_temperature);
    CHECK(plan.preference.grpo.reward_functions == 1);
    CHECK(plan.trl_makes_adapters);
    const TrainPlan other =
        read_online(online_script(", max_new_tokens=128, temperature=1.0, loss_type='ipo', max_length=1024")).job.plan;
    CHECK(other.batch.sequence_length == 228);
    CHECK(other.training.max_length == 1024);
    CHECK_FALSE(other.preference.grpo.has_temperature);
    CHECK(other.preference.loss_types == std::vector{PairLoss::ipo});
}

TEST_CASE("what trl stops at, and what is not predicted of online DPO") {
    CHECK(online_stops_at(online_script("", "")) == "invalid a.py:6:11 OnlineDPOTrainer");
    CHECK(online_stops_at(online_script(", use_vllm=True")) == "refused use_vllm");
    CHECK(online_stops_at(online_script(", missing_eos_penalty=1.0")) == "refused missing_eos_penalty");
    CHECK(online_stops_at(online_script("", "ref_model='other', reward_funcs=longer, ")) ==
          "refused trainer.ref_model");
}
