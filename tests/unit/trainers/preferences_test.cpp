// Files, launch lines and scripts for trl's trainers of preferences.
#include <string>

#include "support/catch.hpp"
#include "unit/trainers/asked.hpp"
#include "vramfit/base/error.hpp"
#include "vramfit/trainers/reading.hpp"

using namespace vramfit;
using test::asked_of;

namespace {

Reading read_preferred(std::string name, std::string text) {
    return read_trainer_files(asked_of({{std::move(name), std::move(text)}}));
}

const std::string kPreferredModel = "model_name_or_path: llama-3.2-1b\n";

/// The key at which reading stops, and whether it is a mistake.
std::string stops_at(const std::string& name, const std::string& text) {
    try {
        const Reading reading = read_preferred(name, text);
        return reading.refusals.empty() ? "" : "refused " + reading.refusals.front().key;
    } catch (const Error& error) {
        return "invalid " + error.problems().front().where;
    }
}

bool notes_it(const Reading& reading, const std::string& words) {
    for (const ReadingNote& note : reading.notes)
        if (note.text.find(words) != std::string::npos) return true;
    return false;
}

std::string script_of(const std::string& call, const std::string& config = "") {
    return "from trl import DPOConfig, DPOTrainer\nfrom transformers import AutoModelForCausalLM\n"
           "model = AutoModelForCausalLM.from_pretrained('meta-llama/Llama-3.2-1B')\n"
           "args = DPOConfig(output_dir='o', per_device_train_batch_size=2" +
           config + ")\ntrainer = DPOTrainer(" + call + ")\ntrainer.train()\n";
}

}  // namespace

TEST_CASE("DPO's files are known by the command, by a key of its own, or by their names") {
    const auto format = [](const std::string& name, const std::string& text) {
        return read_preferred(name, text).files.front().format;
    };
    CHECK(format("a.sh", "trl dpo --model_name_or_path llama-3.2-1b\n") == "trl-preferences");
    CHECK(format("a.sh", "accelerate launch -m trl.scripts.dpo --model_name_or_path llama-3.2-1b\n") ==
          "trl-preferences");
    CHECK(format("a.sh", "python run_dpo.py --model_name_or_path llama-3.2-1b\n") == "trl-preferences");
    CHECK(format("f.yaml", kPreferredModel + "loss_weights: [1]\nf_divergence_type: reverse_kl\n") ==
          "trl-preferences");
    CHECK(format("recipes/zephyr/dpo/config.yaml", kPreferredModel + "beta: 0.1\n") == "trl-preferences");
    CHECK(format("f.yaml", kPreferredModel + "beta: 0.1\noutput_dir: data/zephyr-7b-dpo-full\n") == "trl-preferences");
    // Which of several trainers it is for is not said.
    CHECK(format("f.yaml", kPreferredModel + "beta: 0.1\noutput_dir: dpone\n") == "trl");
    CHECK(stops_at("f.yaml", kPreferredModel + "beta: 0.1\n") == "refused beta");
    CHECK(format("dpo/grpo.yaml", kPreferredModel + "beta: 0.1\nnum_generations: 8\nmax_prompt_length: 64\n") ==
          "trl-grpo");
    CHECK(format("dpo/sft.yaml", kPreferredModel + "max_length: 64\n") == "trl");
}

TEST_CASE("a program keeps its name where its keys stand in a file") {
    TrainerQuestion question = asked_of({{"a.sh", "trl gkd --config x.yaml\n"}});
    question.open = [](const std::string&) {
        return std::optional<std::string>("model_name_or_path: llama-3.2-1b\nmax_length: 64\n");
    };
    REQUIRE(read_trainer_files(question).refusals.size() == 1);
    question.files[0].text = "trl sft --config x.yaml\n";
    CHECK(read_trainer_files(question).refusals.empty());
    // What stands on the line goes before the file, and has its place there.
    question.files[0].text = "\ntrl sft --config x.yaml --max_length 32 \\\n  --padding_free true\n";
    const Reading reading = read_trainer_files(question);
    CHECK(reading.input("batch.sequence_length")->place == FilePlace{"a.sh", {2, 25}});
    REQUIRE(reading.refusals.size() == 1);
    CHECK(reading.refusals.front().key == "padding_free");
    CHECK(reading.refusals.front().place == FilePlace{"a.sh", {3, 3}});
}

// trl 1.16.0 trainer/dpo_config.py, base_config.py.
TEST_CASE("DPOConfig's defaults and arguments") {
    const TrainPlan plan = read_preferred("dpo.yaml", kPreferredModel + "beta: 0.1\n").job.plan;
    CHECK(plan.loop.kind == LoopKind::dpo);
    CHECK(plan.training.per_device_train_batch_size == 8);
    CHECK(plan.training.gradient_checkpointing);
    CHECK(plan.training.bf16);
    CHECK(plan.load.dtype == DType::float32);
    CHECK(plan.batch.sequence_length == 1024);
    CHECK(plan.batch.pairs.prompt.front() == 1);
    CHECK(plan.batch.pairs.rejected_shorter.front() == 1);
    const TrainPlan other =
        read_preferred("dpo.yaml",
                       kPreferredModel +
                           "beta: 0.1\nloss_type: [sigmoid, sft]\nprecompute_ref_log_probs: true\nmax_length: 512\n"
                           "disable_dropout: false\nattn_implementation: flash_attention_2\ndtype: bfloat16\n")
            .job.plan;
    CHECK(other.preference.loss_types == std::vector<PairLoss>{PairLoss::sigmoid, PairLoss::sft});
    CHECK(other.preference.precompute_ref_log_probs);
    CHECK_FALSE(other.preference.disable_dropout);
    CHECK(other.batch.sequence_length == 512);
    CHECK(other.batch.pairs.rejected_shorter.front() == 0);
    CHECK(stops_at("dpo.yaml", kPreferredModel + "beta: 1\nloss_type: aot\n") == "refused loss_type");
    CHECK(stops_at("dpo.yaml", kPreferredModel + "beta: 1\nmax_length: null\n") == "invalid dpo.yaml:3:1 max_length");
}

// trl 1.16.0 scripts/dpo.py: parse_args_and_config(fail_with_unknown_args=False).
TEST_CASE("what DPOConfig no longer has is dropped from a file and stops a line and a script") {
    const Reading file = read_preferred("dpo.yaml", kPreferredModel + "beta: 0.1\nmax_prompt_length: 512\n");
    CHECK(file.refusals.empty());
    CHECK(notes_it(file, "max_prompt_length: DPOConfig of trl 1.16.0 has no such argument"));
    CHECK(stops_at("a.sh", "trl dpo --model_name_or_path llama-3.2-1b --max_prompt_length 512\n") ==
          "invalid a.sh:1:43 max_prompt_length");
    CHECK(stops_at("a.py", script_of("model, None, args", ", max_prompt_length=512")) ==
          "invalid a.py:4:65 max_prompt_length");
}

TEST_CASE("preference training: evaluation with its rows, several GPUs") {
    const std::string text = kPreferredModel + "beta: 0.1\neval_strategy: steps\nper_device_train_batch_size: 4\n";
    const auto evaluation = read_preferred("dpo.yaml", text + "per_device_eval_batch_size: 6\n").job.plan.evaluation;
    REQUIRE(evaluation);
    CHECK(evaluation->per_device_eval_batch_size == 6);
    CHECK_FALSE(evaluation->attention_mask);  // its rows are those of training
    CHECK(read_preferred("dpo.yaml", text).job.plan.evaluation->per_device_eval_batch_size == 8);
    CHECK(stops_at("dpo.yaml", kPreferredModel + "beta: 0.1\nfsdp: full_shard\n") == "refused fsdp");
    TrainerQuestion question = asked_of({{"dpo.yaml", kPreferredModel + "beta: 0.1\n"}});
    question.gpus = 2;
    REQUIRE(read_trainer_files(question).refusals.empty());
    TrainerQuestion evaluated = asked_of({{"dpo.yaml", text}});
    evaluated.gpus = 2;  // there a batch of evaluation that needs no more than one of training is left out
    CHECK(read_trainer_files(evaluated).refusals.at(0).key == "per_device_eval_batch_size");
    const auto processes = read_trainer_files(question).job.plan.distributed;
    REQUIRE(processes);
    CHECK(processes->as<DdpPlan>());
    CHECK_FALSE(processes->load_on_device);  // device_map is None where there are several
    TrainerQuestion other = asked_of({{"kto.yaml", kPreferredModel + "beta: 0.1\n"}});
    other.gpus = 2;
    CHECK(read_trainer_files(other).refusals.size() == 1);
    const std::string accelerate = "compute_environment: LOCAL_MACHINE\ndistributed_type: DEEPSPEED\n";
    question.files.push_back({"acc.yaml", accelerate + "deepspeed_config:\n  zero_stage: 2\n"});
    CHECK(read_trainer_files(question).refusals.empty());
    CHECK(read_trainer_files(question).job.plan.distributed->as<ZeroPlan>());
    question.files.back().text = accelerate + "deepspeed_config:\n  zero_stage: 3\n";
    CHECK(read_trainer_files(question).refusals.empty());
    CHECK(read_trainer_files(question).job.plan.distributed->as<ZeroPlan>()->stage == 3);
    const std::string sharded = "compute_environment: LOCAL_MACHINE\ndistributed_type: FSDP\nfsdp_config:\n";
    question.files.back().text = sharded + "  fsdp_version: 2\n  fsdp_cpu_ram_efficient_loading: false\n";
    CHECK(read_trainer_files(question).refusals.empty());
    CHECK(read_trainer_files(question).job.plan.distributed->as<Fsdp2Plan>());
}

TEST_CASE("DPOTrainer in a script: its arguments by position and by name") {
    const Reading reading = read_preferred("a.py", script_of("model, args=args, train_dataset=data"));
    REQUIRE(reading.refusals.empty());
    CHECK(reading.files.front().format == "trl-preferences-script");
    CHECK(reading.job.plan.loop.kind == LoopKind::dpo);
    CHECK(reading.job.plan.training.per_device_train_batch_size == 2);
    CHECK(reading.job.plan.load.dtype == DType::bfloat16);  // as saved
    CHECK(reading.job.plan.trl_makes_adapters);
    CHECK(stops_at("a.py", script_of("model, AutoModelForCausalLM.from_pretrained('x'), args")) ==
          "invalid a.py:5:29 trainer.ref_model");
    CHECK(stops_at("a.py", script_of("model, args=args, beta=0.1")) == "invalid a.py:5:40 trainer.beta");
    CHECK(stops_at("a.py", script_of("model, args=args, tokenizer=t")) == "invalid a.py:5:40 trainer.tokenizer");
    const std::string adapted = script_of("get_peft_model(model, LoraConfig(r=8)), args=args");
    CHECK_FALSE(
        read_preferred("a.py", "from peft import LoraConfig, get_peft_model\n" + adapted).job.plan.trl_makes_adapters);
    const std::string peft = script_of("'meta-llama/Llama-3.2-1B', args=args, peft_config=LoraConfig(r=8)");
    CHECK(read_preferred("a.py", "from peft import LoraConfig\n" + peft).job.plan.load.dtype ==
          DType::float32);  // trl's own
}
