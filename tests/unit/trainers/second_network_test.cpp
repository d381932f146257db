// Networks beside the one that is trained, in files and scripts of trl.
#include <string>

#include "support/catch.hpp"
#include "unit/trainers/asked.hpp"
#include "vramfit/base/error.hpp"
#include "vramfit/trainers/reading.hpp"

using namespace vramfit;
using test::asked_of;

namespace {

Reading second_reading(std::string name, std::string text) {
    TrainerQuestion question = asked_of({{std::move(name), std::move(text)}});
    question.prompt = 100;
    return read_trainer_files(question);
}

/// The key at which reading stops, and whether it is a mistake.
std::string second_stops_at(const std::string& name, const std::string& text) {
    try {
        const Reading reading = second_reading(name, text);
        return reading.refusals.empty() ? "" : "refused " + reading.refusals.front().key;
    } catch (const Error& error) {
        return "invalid " + error.problems().front().where;
    }
}

const std::string kSecondImports =
    "import torch\nfrom trl import GRPOConfig, GRPOTrainer\nfrom trl.experimental.gkd import GKDConfig, GKDTrainer\n"
    "from transformers import AutoModelForCausalLM, AutoModelForSequenceClassification, BitsAndBytesConfig\n"
    "def longer(completions, **kwargs):\n    return [float(len(c)) for c in completions]\n";

std::string rewarded_script(const std::string& rewards, const std::string& config = "") {
    return kSecondImports + "args = GRPOConfig(output_dir='o', per_device_train_batch_size=4, num_generations=4" +
           config + ")\ntrainer = GRPOTrainer('meta-llama/Llama-3.2-1B', reward_funcs=" + rewards +
           ", args=args)\ntrainer.train()\n";
}

std::string gkd_script(const std::string& teacher, const std::string& config = "", const std::string& more = "") {
    return kSecondImports + "args = GKDConfig(output_dir='o', per_device_train_batch_size=2" + config +
           ")\nmodel = AutoModelForCausalLM.from_pretrained('Qwen/Qwen2.5-0.5B', dtype=torch.bfloat16)\n"
           "trainer = GKDTrainer(model=model, " +
           teacher + "args=args" + more + ")\ntrainer.train()\n";
}

const std::string kSecondTeacher = "teacher_model='Qwen/Qwen2.5-1.5B', ";

}  // namespace

TEST_CASE("reward models in a script: names, loaded ones and functions beside them") {
    const TrainPlan plan = second_reading("a.py", rewarded_script("'Qwen/Qwen2.5-0.5B'")).job.plan;
    REQUIRE(plan.reward_models.size() == 1);
    CHECK(plan.reward_models[0].model.model_type == "qwen2");
    CHECK_FALSE(plan.reward_models[0].dtype);
    CHECK(plan.preference.grpo.reward_functions == 0);
    const std::string loaded =
        "[AutoModelForSequenceClassification.from_pretrained('Qwen/Qwen2.5-0.5B', num_labels=1, "
        "dtype=torch.float16, device_map={'': 0}), longer, 'Qwen/Qwen2.5-1.5B']";
    const TrainPlan both = second_reading("a.py", rewarded_script(loaded)).job.plan;
    REQUIRE(both.reward_models.size() == 2);
    CHECK(both.reward_models[0].dtype == DType::float16);
    CHECK(both.reward_models[0].on_device);
    CHECK_FALSE(both.reward_models[1].on_device);
    CHECK(both.preference.grpo.reward_functions == 1);
    const TrainPlan functions = second_reading("a.py", rewarded_script("[longer, longer]")).job.plan;
    CHECK(functions.reward_models.empty());
    CHECK(functions.preference.grpo.reward_functions == 2);
}

TEST_CASE("a reward model's name is loaded with the policy's arguments") {
    const std::string arguments = ", model_init_kwargs={'dtype': 'float16', 'attn_implementation': 'sdpa'}";
    const TrainPlan plan = second_reading("a.py", rewarded_script("'Qwen/Qwen2.5-0.5B'", arguments)).job.plan;
    CHECK(plan.reward_models.at(0).dtype == DType::float16);
}

TEST_CASE("reward models that are not predicted are refused, unknown ones are mistakes") {
    CHECK(second_stops_at("a.py", rewarded_script("AutoModelForCausalLM.from_pretrained('Qwen/Qwen2.5-0.5B')")) ==
          "refused trainer.reward_funcs");
    CHECK(second_stops_at("a.py",
                          rewarded_script("AutoModelForSequenceClassification.from_pretrained('Qwen/Qwen2.5-0.5B', "
                                          "num_labels=2)")) == "refused trainer.reward_funcs");
    CHECK(second_stops_at("a.py",
                          rewarded_script("AutoModelForSequenceClassification.from_pretrained('Qwen/Qwen2.5-0.5B', "
                                          "quantization_config=BitsAndBytesConfig(load_in_4bit=True))")) ==
          "refused trainer.reward_funcs");
    CHECK(second_stops_at("a.py", rewarded_script("'nobody/nothing'")).find("invalid") == 0);
}

// trl 1.16.0 scripts/grpo.py: model_init_kwargs has the policy's dtype, float32 where nothing is said.
TEST_CASE("reward_model_name_or_path of trl grpo") {
    const std::string keys =
        "model_name_or_path: llama-3.2-1b\nnum_generations: 8\n"
        "reward_model_name_or_path: Qwen/Qwen2.5-0.5B\n";
    const TrainPlan plan = second_reading("f.yaml", keys).job.plan;
    REQUIRE(plan.reward_models.size() == 1);
    CHECK(plan.reward_models[0].dtype == DType::float32);
    CHECK(plan.preference.grpo.reward_functions == 0);
    const TrainPlan other =
        second_reading("f.yaml", keys + "dtype: bfloat16\nreward_funcs: [accuracy_reward, think_format_reward]\n")
            .job.plan;
    CHECK(other.reward_models.at(0).dtype == DType::bfloat16);
    CHECK(other.preference.grpo.reward_functions == 2);
}

TEST_CASE("GKDTrainer in a script") {
    const Reading reading = second_reading("a.py", gkd_script(kSecondTeacher, ", lmbda=1.0, beta=0.0, max_length=256"));
    REQUIRE(reading.refusals.empty());
    const TrainPlan& plan = reading.job.plan;
    CHECK(plan.loop.kind == LoopKind::gkd);
    REQUIRE(plan.teacher);
    CHECK(plan.teacher->model.name == "Qwen/Qwen2.5-1.5B");
    CHECK(plan.distillation.lmbda == 1);
    CHECK(plan.distillation.beta == 0);
    CHECK(plan.distillation.max_new_tokens == 128);
    CHECK(plan.batch.sequence_length == 256);
    CHECK(plan.batch.pairs.padded);
    CHECK(plan.training.gradient_checkpointing);
    const std::string loaded =
        "teacher_model=AutoModelForCausalLM.from_pretrained('Qwen/Qwen2.5-1.5B', torch_dtype='float32'), ";
    CHECK(second_reading("a.py", gkd_script(loaded)).job.plan.teacher->dtype == DType::float32);
    CHECK(second_reading("a.py", gkd_script(kSecondTeacher, ", teacher_model_init_kwargs={'dtype': 'float16'}"))
              .job.plan.teacher->dtype == DType::float16);
}

TEST_CASE("what GKDTrainer cannot do without, and what is not predicted of it") {
    CHECK(second_stops_at("a.py", gkd_script("")).find("invalid") == 0);
    CHECK(second_stops_at("a.py", gkd_script(kSecondTeacher, ", lmbda=1.5")).find("lmbda") != std::string::npos);
    CHECK(second_stops_at("a.py", gkd_script(kSecondTeacher, ", packing=True")) == "refused packing");
    CHECK(second_stops_at("a.py", gkd_script("teacher_model=make_teacher(), ")) == "refused trainer.teacher_model");
}
