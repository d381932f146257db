// Files, launch lines and scripts for trl's GRPOTrainer.
#include <string>

#include "support/catch.hpp"
#include "unit/trainers/asked.hpp"
#include "vramfit/base/error.hpp"
#include "vramfit/trainers/reading.hpp"

using namespace vramfit;
using test::asked_of;

namespace {

TrainerQuestion grpo_question(std::string name, std::string text) {
    TrainerQuestion question = asked_of({{std::move(name), std::move(text)}});
    question.prompt = 100;
    return question;
}

Reading read_groups_of(std::string name, std::string text) {
    return read_trainer_files(grpo_question(std::move(name), std::move(text)));
}

/// The key at which reading stops, and whether it is a mistake.
std::string group_stops_at(const TrainerQuestion& question) {
    try {
        const Reading reading = read_trainer_files(question);
        return reading.refusals.empty() ? "" : "refused " + reading.refusals.front().key;
    } catch (const Error& error) {
        return "invalid " + error.problems().front().where;
    }
}

std::string group_stops_at(const std::string& name, const std::string& text) {
    return group_stops_at(grpo_question(name, text));
}

const std::string kGroupModel = "model_name_or_path: llama-3.2-1b\n";

std::string group_script(const std::string& rewards, const std::string& config = "", const std::string& more = "") {
    return "from trl import GRPOConfig, GRPOTrainer\nfrom transformers import AutoModelForCausalLM, "
           "AutoModelForSequenceClassification\n"
           "def longer(completions, **kwargs):\n    return [float(len(c)) for c in completions]\n"
           "args = GRPOConfig(output_dir='o', per_device_train_batch_size=4, num_generations=4" +
           config + ")\ntrainer = GRPOTrainer('meta-llama/Llama-3.2-1B', " + rewards + ", args" + more +
           ")\ntrainer.train()\n";
}

}  // namespace

TEST_CASE("GRPO's files are known by the command, the script or a key of its own") {
    const auto format = [](const std::string& name, const std::string& text) {
        return read_groups_of(name, text).files.front().format;
    };
    CHECK(format("a.sh", "trl grpo --model_name_or_path llama-3.2-1b\n") == "trl-grpo");
    CHECK(format("a.sh", "accelerate launch -m trl.scripts.grpo --model_name_or_path llama-3.2-1b\n") == "trl-grpo");
    CHECK(format("a.sh", "python src/open_r1/grpo.py --model_name_or_path llama-3.2-1b\n") == "trl-grpo");
    CHECK(format("f.yaml", kGroupModel + "num_generations: 4\n") == "trl-grpo");
    CHECK(format("f.yaml", kGroupModel + "reward_funcs: [accuracy]\n") == "trl-grpo");
    CHECK(format("a.py", group_script("longer")) == "trl-grpo-script");
    // RLOO and distillation have some of the keys.
    CHECK(format("f.yaml", kGroupModel + "num_generations: 4\noutput_dir: rloo\n") == "trl-rloo");
    CHECK(group_stops_at("f.yaml", kGroupModel + "reward_funcs: [a]\nteacher_model_name_or_path: x\n") != "");
}

// trl 1.16.0 trainer/grpo_config.py.
TEST_CASE("GRPOConfig's defaults and arguments") {
    const TrainPlan plan = read_groups_of("f.yaml", kGroupModel + "num_generations: 8\n").job.plan;
    CHECK(plan.loop.kind == LoopKind::grpo);
    CHECK(plan.training.per_device_train_batch_size == 8);
    CHECK(plan.training.gradient_checkpointing);
    CHECK(plan.training.bf16);
    CHECK(plan.load.dtype == DType::float32);
    CHECK(plan.batch.sequence_length == 612);
    CHECK(plan.batch.pairs.prompt.front() == 100);
    CHECK(plan.batch.pairs.padded);
    CHECK_FALSE(plan.preference.grpo.has_reference);
    CHECK_FALSE(plan.preference.disable_dropout);
    const TrainPlan other =
        read_groups_of("f.yaml", kGroupModel +
                                     "num_generations: 4\nbeta: 0.04\nloss_type: dr_grpo\ntemperature: 0.9\n"
                                     "num_iterations: 2\ngeneration_batch_size: 16\nmax_completion_length: 64\n"
                                     "scale_rewards: false\nepsilon: 0.2\nreward_funcs: [accuracy_reward]\n")
            .job.plan;
    const GrpoPlan& grpo = other.preference.grpo;
    CHECK(grpo.has_reference);
    CHECK(grpo.has_temperature);
    CHECK(grpo.loss == GroupLoss::dr_grpo);
    CHECK(grpo.scale == RewardScale::none);
    CHECK(grpo.num_iterations == 2);
    CHECK(grpo.steps_per_generation == 2);
    CHECK(other.batch.sequence_length == 164);
}

// transformers 5.17 generation/logits_process.py, trl 1.16.0 trainer/grpo_config.py.
TEST_CASE("what GRPOConfig asks of sampling, of completions that are cut and of ratios") {
    const auto plan_of = [](const std::string& keys) {
        return read_groups_of("f.yaml", kGroupModel + "num_generations: 8\n" + keys).job.plan.preference.grpo;
    };
    CHECK(plan_of("") == plan_of("repetition_penalty: 1.0\nmask_truncated_completions: false\ndelta: null\n"
                                 "importance_sampling_level: token\n"));
    CHECK(plan_of("repetition_penalty: 1.1\n").penalizes_repetition);
    CHECK(plan_of("") == plan_of("top_k: 0\ntop_p: 1.0\nmin_p: null\n"));
    CHECK(plan_of("top_k: 50\n").top_k == 50);
    CHECK(plan_of("top_p: 0.9\n").has_top_p);
    CHECK(plan_of("min_p: 0.0\n").has_min_p);
    CHECK(plan_of("top_k: 50\ntop_p: 0.9\nmin_p: 0.1\nuse_vllm: true\n").top_k == 0);  // vLLM draws by itself
    CHECK(plan_of("mask_truncated_completions: true\n").masks_truncated);
    CHECK(plan_of("importance_sampling_level: sequence\n").level == SamplingLevel::sequence);
    CHECK(plan_of("delta: 4.0\n").clips_both_sides);
    CHECK_FALSE(plan_of("").corrects_divergence.has_value());  // as the release has it
    CHECK(plan_of("use_bias_correction_kl: false\n").corrects_divergence == false);
    CHECK(plan_of("loss_type: vespo\n").loss == GroupLoss::vespo);
    const Reading script =
        read_groups_of("a.py", group_script("longer",
                                            ", repetition_penalty=1.05, mask_truncated_completions=True, "
                                            "importance_sampling_level='sequence', loss_type='luspo'"));
    REQUIRE(script.refusals.empty());
    const GrpoPlan& grpo = script.job.plan.preference.grpo;
    CHECK((grpo.penalizes_repetition && grpo.masks_truncated));
    CHECK(grpo.level == SamplingLevel::sequence);
    CHECK(grpo.loss == GroupLoss::luspo);
}

TEST_CASE("how long prompts are is asked for, or what an older file says") {
    const std::string text = kGroupModel + "num_generations: 8\n";
    TrainerQuestion question = asked_of({{"f.yaml", text}});
    CHECK(group_stops_at(question) == "invalid --prompt");
    question.lengths = {30, 70, 20};
    CHECK(read_trainer_files(question).job.plan.batch.pairs.prompt.front() == 70);
    question.lengths.clear();
    question.seq = 600;
    CHECK(read_trainer_files(question).job.plan.batch.pairs.prompt.front() == 88);
    question.seq = 512;
    CHECK(group_stops_at(question) == "invalid --seq");
    question.seq.reset();
    question.prompt = 0;
    CHECK(group_stops_at(question) == "invalid --prompt");
    question.prompt.reset();
    question.files.front().text = text + "max_prompt_length: 256\n";
    const Reading reading = read_trainer_files(question);
    CHECK(reading.job.plan.batch.pairs.prompt.front() == 256);
    bool assumed = false;
    for (const ReadingNote& note : reading.notes) assumed = assumed || note.kind == RemarkKind::assumed_length;
    CHECK(assumed);
    // Other trainers have no prompts of their own.
    TrainerQuestion sft = asked_of({{"f.yaml", kGroupModel + "max_length: 64\n"}});
    sft.prompt = 100;
    CHECK(group_stops_at(sft) == "invalid --prompt");
}

TEST_CASE("what trl stops at, and what is not predicted of GRPO") {
    const auto stops = [](const std::string& keys) { return group_stops_at("f.yaml", kGroupModel + keys); };
    CHECK(stops("num_generations: 3\n") == "invalid f.yaml:2:1 num_generations");
    CHECK(stops("num_generations: 4\ngeneration_batch_size: 4\nsteps_per_generation: 1\n") ==
          "invalid f.yaml:3:1 generation_batch_size");
    CHECK(stops("num_generations: 4\ngeneration_batch_size: 12\n") == "invalid f.yaml:3:1 generation_batch_size");
    CHECK(stops("num_generations: 4\nmax_completion_length: null\n") == "invalid f.yaml:3:1 max_completion_length");
    for (const char* key : {"loss_type: other", "scale_rewards: all", "eval_strategy: steps", "fsdp: full_shard"}) {
        const std::string name(key, std::string_view(key).find(':'));
        const std::string place = name == "eval_strategy" ? "per_device_eval_batch_size" : name;
        CHECK(stops("num_generations: 4\n" + std::string(key) + "\n") == "refused " + place);
    }
    CHECK(stops("num_generations: 4\ntop_p: 1.5\n") == "invalid f.yaml:3:1 top_p");
    CHECK(stops("num_generations: 4\nbeta: 0.1\nsync_ref_model: true\n") == "");
    CHECK(stops("num_generations: 4\nrepetition_penalty: 0.0\n") == "invalid f.yaml:3:1 repetition_penalty");
    CHECK(stops("num_generations: 4\nimportance_sampling_level: row\n") == "refused importance_sampling_level");
    for (const char* key :
         {"use_vllm: false", "vllm_mode: server", "top_p: 1.0", "scale_rewards: true", "top_k: 0",
          "use_vllm: true\ntop_k: 50\ntop_p: 0.9\nmin_p: 0.1", "eval_strategy: \"no\"", "entropy_coef: 0.0"})
        CHECK(stops("num_generations: 4\n" + std::string(key) + "\n") == "");
}

TEST_CASE("vLLM in the trainer's process is read, and what of it is not predicted is refused") {
    const std::string keys = "num_generations: 4\nuse_vllm: true\n";
    const auto plan_of = [&](const std::string& more) {
        return read_groups_of("f.yaml", kGroupModel + keys + more).job.plan.preference.grpo;
    };
    CHECK(plan_of("").vllm_share == 0.3);
    CHECK(plan_of("").corrects_sampling);
    CHECK(plan_of("vllm_gpu_memory_utilization: 0.55\nvllm_max_model_length: 4096\n").vllm_share == 0.55);
    CHECK(plan_of("vllm_max_model_length: 4096\n").vllm_context == 4096);
    CHECK_FALSE(plan_of("vllm_importance_sampling_correction: false\n").corrects_sampling);
    CHECK(plan_of("vllm_importance_sampling_mode: token_truncate\n").correction ==
          SamplingCorrectionMode::token_truncate);
    CHECK(plan_of("vllm_model_impl: transformers\nvllm_server_port: 9000\n") == plan_of(""));
    const auto stops = [&](const std::string& more) { return group_stops_at("f.yaml", kGroupModel + keys + more); };
    CHECK(plan_of("vllm_mode: server\nvllm_enable_sleep_mode: true\n").vllm_on_server);
    CHECK(stops("vllm_enable_sleep_mode: true\n") == "refused vllm_enable_sleep_mode");
    CHECK(stops("vllm_tensor_parallel_size: 2\n") == "refused vllm_tensor_parallel_size");
    CHECK(stops("vllm_mode: both\n") == "invalid f.yaml:4:1 vllm_mode");
    CHECK(stops("vllm_gpu_memory_utilization: 1.5\n") == "invalid f.yaml:4:1 vllm_gpu_memory_utilization");
    const Reading script = read_groups_of(
        "a.py", group_script("longer", ", use_vllm=True, vllm_mode='colocate', vllm_gpu_memory_utilization=0.4"));
    CHECK(script.refusals.empty());
    CHECK(script.job.plan.preference.grpo.vllm_share == 0.4);
}

TEST_CASE("several GPUs of GRPO: groups over all of them, DDP and ZeRO") {
    const std::string eight = "num_generations: 8\nper_device_train_batch_size: 4\n";
    TrainerQuestion two = grpo_question("f.yaml", kGroupModel + eight);
    two.gpus = 2;
    CHECK(group_stops_at(two) == "");
    CHECK(read_trainer_files(two).job.plan.distributed->as<DdpPlan>());
    two.gpus = 1;
    CHECK(group_stops_at(two) == "invalid f.yaml:2:1 num_generations");
    const std::string accelerate = "compute_environment: LOCAL_MACHINE\nnum_processes: 2\n";
    const auto with = [&](const std::string& keys, const std::string& type) {
        TrainerQuestion question = grpo_question("f.yaml", kGroupModel + keys);
        question.files.push_back({"acc.yaml", accelerate + "distributed_type: " + type});
        return question;
    };
    CHECK(group_stops_at(with(eight, "MULTI_GPU\n")) == "");
    CHECK(group_stops_at(with(eight, "DEEPSPEED\ndeepspeed_config:\n  zero_stage: 2\n")) == "");
    CHECK(group_stops_at(with(eight, "DEEPSPEED\ndeepspeed_config:\n  zero_stage: 3\n")) == "");
    CHECK(group_stops_at(with(eight + "ds3_gather_for_generation: false\n", "MULTI_GPU\n")) ==
          "refused ds3_gather_for_generation");
    // Which share of it a process has follows from a number that another file says.
    CHECK(group_stops_at(with(eight + "generation_batch_size: 16\n", "MULTI_GPU\n")) ==
          "refused generation_batch_size");
}

TEST_CASE("GRPOTrainer in a script: rewards from functions") {
    const Reading reading = read_groups_of("a.py", group_script("longer", ", max_completion_length=64"));
    REQUIRE(reading.refusals.empty());
    CHECK(reading.job.plan.loop.kind == LoopKind::grpo);
    CHECK(reading.job.plan.training.per_device_train_batch_size == 4);
    CHECK(reading.job.plan.batch.sequence_length == 164);
    CHECK(reading.job.plan.trl_makes_adapters);
    for (const char* rewards : {"[longer, longer]", "reward_funcs=longer", "make_rewards()", "[lambda **_: 1.0]"})
        CHECK(group_stops_at("a.py", group_script(rewards)) == "");
    CHECK(group_stops_at("a.py", group_script("longer", "", ", tools=[longer]")) == "refused trainer.tools");
    CHECK(group_stops_at("a.py", group_script("longer", ", use_vllm=True, vllm_mode='server'")) == "");
    CHECK(group_stops_at("a.py", group_script("longer", ", max_prompt_length=64")).find("max_prompt_length") !=
          std::string::npos);
}

// transformers runs two networks in place of one: the trainer's adapters come from its own argument.
TEST_CASE("GRPOTrainer in a script: adapters") {
    const std::string lora = "from peft import LoraConfig\n";
    const TrainPlan plan =
        read_groups_of("a.py",
                       lora + group_script("longer", "", ", peft_config=LoraConfig(r=4, target_modules='all-linear')"))
            .job.plan;
    REQUIRE(plan.peft);
    CHECK(plan.peft->r == 4);
    CHECK(plan.trl_makes_adapters);
}
