// Files and scripts for KTO, reward models, ORPO and CPO, and axolotl's `rl`.
#include <string>

#include "support/catch.hpp"
#include "unit/trainers/asked.hpp"
#include "vramfit/base/error.hpp"
#include "vramfit/spec/pair_rows.hpp"
#include "vramfit/trainers/reading.hpp"

using namespace vramfit;
using test::asked_of;

namespace {

Reading read_as(std::string name, std::string text) {
    return read_trainer_files(asked_of({{std::move(name), std::move(text)}}));
}

/// The key at which reading stops, and whether it is a mistake.
std::string stop_of(const std::string& name, const std::string& text) {
    try {
        const Reading reading = read_as(name, text);
        return reading.refusals.empty() ? "" : "refused " + reading.refusals.front().key;
    } catch (const Error& error) {
        return "invalid " + error.problems().front().where;
    }
}

TrainPlan plan_in(const std::string& name, const std::string& text) { return read_as(name, text).job.plan; }

const std::string kNamed = "model_name_or_path: llama-3.2-1b\n";
const std::string kAxolotl =
    "base_model: llama-3.2-1b\ndatasets: []\nsequence_len: 512\nmicro_batch_size: 2\nbf16: true\n";
const std::string kAdapter = "adapter: lora\nlora_r: 8\nlora_target_linear: true\n";

std::string trainer_script(const std::string& name, const std::string& model, const std::string& config,
                           const std::string& more = "") {
    return "from trl import " + name + "Config, " + name + "Trainer\nfrom peft import LoraConfig\n" +
           "from transformers import AutoModelForCausalLM, AutoModelForSequenceClassification\nmodel = " + model +
           "\nargs = " + name + "Config(output_dir='o'" + config + ")\ntrainer = " + name +
           "Trainer(model=model, args=args" + more + ")\ntrainer.train()\n";
}

const std::string kCausal = "AutoModelForCausalLM.from_pretrained('meta-llama/Llama-3.2-1B')";
const std::string kScored =
    "AutoModelForSequenceClassification.from_pretrained('meta-llama/Llama-3.2-1B', num_labels=1)";

}  // namespace

TEST_CASE("the trainer of a file: by its command, by a key of its own, by its name") {
    CHECK(plan_in("a.sh", "trl kto --model_name_or_path llama-3.2-1b\n").loop.kind == LoopKind::kto);
    CHECK(plan_in("a.sh", "trl reward --model_name_or_path llama-3.2-1b\n").loop.kind == LoopKind::reward);
    CHECK(plan_in("a.sh", "python orpo.py --model_name_or_path llama-3.2-1b\n").loop.kind == LoopKind::orpo);
    CHECK(stop_of("a.sh", "trl orpo --model_name_or_path llama-3.2-1b --max_length 64\n") != "");
    CHECK(plan_in("f.yaml", kNamed + "beta: 0.1\ndesirable_weight: 1.0\n").loop.kind == LoopKind::kto);
    CHECK(plan_in("f.yaml", kNamed + "beta: 0.1\nsimpo_gamma: 0.5\n").loop.kind == LoopKind::cpo);
    CHECK(plan_in("recipes/orpo.yaml", kNamed + "beta: 0.1\n").loop.kind == LoopKind::orpo);
    CHECK(plan_in("f.yaml", kNamed + "center_rewards_coefficient: 0.1\n").loop.kind == LoopKind::reward);
    CHECK(plan_in("f.yaml", kNamed + "use_peft: true\nlora_task_type: SEQ_CLS\n").loop.kind == LoopKind::reward);
}

TEST_CASE("losses and terms of each trainer") {
    CHECK(plan_in("kto.yaml", kNamed + "beta: 1\nloss_type: apo_zero_unpaired\n").preference.unpaired_loss ==
          UnpairedLoss::apo_zero_unpaired);
    const TrainPlan simpo = plan_in("cpo.yaml", kNamed + "beta: 1\nloss_type: simpo\ncpo_alpha: 0\n");
    CHECK(simpo.preference.contrast_loss == ContrastLoss::simpo);
    CHECK_FALSE(simpo.preference.adds_likelihood);
    CHECK(plan_in("reward.yaml", kNamed + "center_rewards_coefficient: 0.1\n").preference.centers_rewards);
    CHECK(stop_of("cpo.yaml", kNamed + "beta: 1\nalpha: 0.5\n") == "refused alpha");
    CHECK(stop_of("orpo.yaml", kNamed + "beta: 1\nloss_type: simpo\n") == "invalid orpo.yaml:3:1 loss_type");
    CHECK(stop_of("orpo.yaml", kNamed + "beta: 1\nmax_completion_length: 64\n") == "");
}

// peft 0.21.2 PeftModelForCausalLM asks a classifier for prepare_inputs_for_generation; trl's default task is
// CAUSAL_LM.
TEST_CASE("adapters of a reward model have to be told that it classifies") {
    const std::string line = "trl reward --model_name_or_path llama-3.2-1b --max_length 64 --use_peft";
    CHECK(stop_of("a.sh", line + "\n") == "invalid a.sh lora_task_type");
    CHECK(stop_of("a.sh", line + " --lora_task_type SEQ_CLS\n") == "");
    CHECK(stop_of("a.sh", "trl dpo --model_name_or_path llama-3.2-1b --use_peft --lora_task_type SEQ_CLS\n") ==
          "refused lora_task_type");
    const auto of_task = [](const std::string& task) {
        return stop_of("a.py", trainer_script("Reward", kScored, "", ", peft_config=LoraConfig(r=8" + task + ")"));
    };
    CHECK(of_task(", task_type='SEQ_CLS'") == "");
    CHECK(of_task(", task_type='CAUSAL_LM'") == "invalid a.py:6:77 peft_config.task_type");
    CHECK(of_task("") == "refused peft_config.task_type");
}

TEST_CASE("scripts of the other trainers") {
    CHECK(plan_in("a.py", trainer_script("KTO", kCausal, "")).loop.kind == LoopKind::kto);
    CHECK(plan_in("a.py", trainer_script("ORPO", kCausal, "")).loop.kind == LoopKind::orpo);
    CHECK(plan_in("a.py", trainer_script("Reward", kScored, "")).loop.kind == LoopKind::reward);
    CHECK(stop_of("a.py", trainer_script("Reward", kCausal, "")) == "refused loader");
    CHECK(stop_of("a.py", trainer_script("KTO", kScored, "")) != "");
    const std::string two =
        "AutoModelForSequenceClassification.from_pretrained('meta-llama/Llama-3.2-1B', num_labels=2)";
    CHECK(stop_of("a.py", trainer_script("Reward", two, "")) == "invalid a.py:4:87 from_pretrained.num_labels");
}

// trl 1.16.0 experimental/cpo/cpo_trainer.py calls from_pretrained itself: as saved, on the host.
TEST_CASE("a network named to CPOTrainer is loaded plainly") {
    const TrainPlan plan = plan_in("a.py", trainer_script("CPO", "'meta-llama/Llama-3.2-1B'", ""));
    CHECK(plan.load.dtype == DType::bfloat16);
    CHECK_FALSE(plan.load.on_device);
    const TrainPlan kto = plan_in("a.py", trainer_script("KTO", "'meta-llama/Llama-3.2-1B'", ""));
    CHECK(kto.load.dtype == DType::float32);
    CHECK(kto.load.on_device);
}

// trl 1.9.0 experimental/bco/bco_config.py, bco_trainer.py; examples/scripts/bco.py, which embeds prompts.
TEST_CASE("scripts with BCOTrainer, and trl's own, which is refused") {
    CHECK(plan_in("a.py", trainer_script("BCO", kCausal, "")).loop.kind == LoopKind::bco);
    CHECK(plan_in("a.py", trainer_script("BCO", kCausal, ", precompute_ref_log_probs=True"))
              .preference.precompute_ref_log_probs);
    CHECK(stop_of("a.py", trainer_script("BCO", kCausal, ", max_completion_length=64, prompt_sample_size=9")) == "");
    CHECK(stop_of("a.py", trainer_script("BCO", kCausal, ", loss_type='kto'")) == "invalid a.py:5:34 loss_type");
    CHECK(stop_of("a.py", "def embed(input_ids, attention_mask):\n    return input_ids\n" +
                              trainer_script("BCO", kCausal, "", ", embedding_func=embed")) ==
          "invalid a.py:8:46 trainer.embedding_func");
    CHECK_FALSE(plan_in("a.py", trainer_script("BCO", "'meta-llama/Llama-3.2-1B'", "")).load.on_device);
    CHECK(stop_of("a.sh", "python bco.py --model_name_or_path llama-3.2-1b\n") == "refused model_name_or_path");
    CHECK(stop_of("f.yaml", kNamed + "beta: 1\nmin_density_ratio: 0.1\n") == "refused model_name_or_path");
}

// LLaMA-Factory 0.9.5 hparams/finetuning_args.py, train/dpo, kto and rm.
TEST_CASE("LLaMA-Factory's stages of preferences") {
    const std::string base =
        "model_name_or_path: llama-3.2-1b\ndo_train: true\nfinetuning_type: lora\nlora_target: all\ntemplate: llama3\n"
        "cutoff_len: 510\nper_device_train_batch_size: 2\nbf16: true\n";
    const TrainPlan dpo = plan_in("f.yaml", base + "stage: dpo\n");
    CHECK(dpo.loop.kind == LoopKind::dpo);
    CHECK(dpo.preference.maker == TrainerMaker::llama_factory);
    CHECK_FALSE(dpo.trl_makes_adapters);
    CHECK_FALSE(dpo.preference.adds_sft);
    CHECK(dpo.batch.sequence_length % kFactoryMultiple == 0);
    CHECK(plan_in("f.yaml", base + "stage: dpo\npref_ftx: 0.1\n").preference.adds_sft);
    CHECK(plan_in("f.yaml", base + "stage: dpo\npref_loss: ipo\n").preference.loss_types == std::vector{PairLoss::ipo});
    CHECK(plan_in("f.yaml", base + "stage: dpo\npref_loss: orpo\n").loop.kind == LoopKind::orpo);
    const TrainPlan simpo = plan_in("f.yaml", base + "stage: dpo\npref_loss: simpo\n");
    CHECK(simpo.loop.kind == LoopKind::cpo);
    CHECK(simpo.preference.contrast_loss == ContrastLoss::simpo);
    CHECK(plan_in("f.yaml", base + "stage: kto\n").loop.kind == LoopKind::kto);
    CHECK(plan_in("f.yaml", base + "stage: rm\n").loop.kind == LoopKind::reward);
    CHECK(stop_of("f.yaml", base + "stage: ppo\n") == "refused stage");
    CHECK(stop_of("f.yaml", base + "stage: dpo\npref_bco_weight: 0.5\n") == "refused pref_bco_weight");
    CHECK(stop_of("f.yaml", base + "stage: dpo\nld_alpha: 0.5\n") == "refused ld_alpha");
    CHECK(stop_of("f.yaml", base + "stage: dpo\nref_model: llama-3.2-1b\n") == "refused ref_model");
    CHECK(stop_of("f.yaml", base + "stage: dpo\npref_loss: bco\n") == "invalid f.yaml:10:1 pref_loss");
    CHECK(stop_of("f.yaml", base + "stage: dpo\npref_loss: orpo\ndpo_label_smoothing: 0.1\n") ==
          "invalid f.yaml:11:1 dpo_label_smoothing");
}

// ms-swift 4.6 swift/arguments/rlhf_args.py.
TEST_CASE("ms-swift's rlhf_type dpo") {
    const std::string base = "model: llama-3.2-1b\nmax_length: 500\ntorch_dtype: bfloat16\n";
    const TrainPlan lora = plan_in("f.yaml", base + "tuner_type: lora\nrlhf_type: dpo\n");
    CHECK(lora.loop.kind == LoopKind::dpo);
    CHECK(lora.preference.maker == TrainerMaker::ms_swift);
    CHECK(lora.preference.loss_types == std::vector{PairLoss::sigmoid});
    CHECK_FALSE(lora.trl_makes_adapters);
    CHECK_FALSE(lora.preference.adds_sft);
    CHECK(lora.training.weight_decay == kSwiftWeightDecay);
    CHECK(lora.training.use_reentrant.value_or(false));
    CHECK(lora.batch.sequence_length == 500);
    const std::string full = base + "tuner_type: full\nrlhf_type: dpo\n";
    CHECK(plan_in("f.yaml", full + "rpo_alpha: 0.1\nloss_type: [ipo, sft]\n").preference.adds_sft);
    CHECK(plan_in("f.yaml", full + "loss_type: [ipo, sft]\n").preference.loss_types ==
          std::vector{PairLoss::ipo, PairLoss::sft});
    CHECK(plan_in("f.yaml", full + "ref_model: llama-3.2-1b\n").loop.kind == LoopKind::dpo);
    CHECK(plan_in("a.sh", "swift rlhf --model llama-3.2-1b --max_length 512\n").loop.kind == LoopKind::dpo);
    CHECK(stop_of("f.yaml", full + "ref_model: llama-3.2-3b\n") == "refused ref_model");
    CHECK(stop_of("f.yaml", full + "loss_type: exo_pair\n") == "refused loss_type");
    CHECK(stop_of("f.yaml", full + "ld_alpha: 0.5\n") == "refused ld_alpha");
    CHECK(stop_of("f.yaml", full + "packing: true\n") == "refused packing");
    CHECK(stop_of("f.yaml", base + "tuner_type: lora\nrlhf_type: dpo\nref_model: llama-3.2-1b\n") ==
          "invalid f.yaml:6:1 ref_model");
    CHECK(stop_of("f.yaml", base + "tuner_type: lora\nrlhf_type: gkd\n") == "refused rlhf_type");
    const TrainPlan rewards = plan_in(
        "f.yaml", base + "tuner_type: lora\nrlhf_type: rm\ncenter_rewards_coefficient: 0.1\ntask_type: seq_cls\n");
    CHECK(rewards.loop.kind == LoopKind::reward);
    CHECK(rewards.preference.maker == TrainerMaker::ms_swift);
    CHECK(rewards.preference.centers_rewards);
    CHECK(stop_of("f.yaml", full + "task_type: seq_cls\n") == "refused task_type");
    CHECK(stop_of("f.yaml", base + "tuner_type: full\nrlhf_type: rm\nref_model: llama-3.2-1b\n") ==
          "invalid f.yaml:6:1 ref_model");
    CHECK(stop_of("f.yaml", base + "tuner_type: lora\nloss_type: sigmoid\n") == "refused loss_type");
}

// ms-swift 4.6 swift/arguments/rlhf_args.py, rlhf_trainers/args_mixin.py.
TEST_CASE("ms-swift's rlhf_type grpo") {
    const std::string base =
        "model: llama-3.2-1b\nmax_length: 300\ntorch_dtype: bfloat16\ntuner_type: lora\nrlhf_type: grpo\n";
    const std::string groups = base + "per_device_train_batch_size: 8\n";
    const TrainPlan plan = plan_in("f.yaml", groups + "reward_funcs: [accuracy, format]\n");
    const GrpoPlan& grpo = plan.preference.grpo;
    CHECK(plan.loop.kind == LoopKind::grpo);
    CHECK(plan.preference.maker == TrainerMaker::ms_swift);
    CHECK(plan.training.gradient_accumulation_steps == 1);
    CHECK(grpo.loss == GroupLoss::grpo);
    CHECK(grpo.has_reference);
    CHECK(grpo.has_temperature);
    CHECK(grpo.top_k == kTopKOfTransformers);
    CHECK(grpo.reward_functions == 2);
    CHECK(plan.batch.pairs.prompt == std::vector<std::int64_t>{300});
    CHECK(plan.batch.sequence_length == 812);
    CHECK(plan_in("f.yaml", groups + "loss_type: dapo\ntop_k: 20\n").preference.grpo.top_k == 20);
    CHECK_FALSE(plan_in("f.yaml", groups + "beta: 0\n").preference.grpo.has_reference);
    CHECK(stop_of("f.yaml", base) == "invalid f.yaml num_generations");
    CHECK(stop_of("f.yaml", groups + "use_vllm: true\n") == "refused use_vllm");
    CHECK(stop_of("f.yaml", groups + "loss_type: real\n") == "refused loss_type");
    CHECK(stop_of("f.yaml", groups + "advantage_estimator: rloo\n") == "refused advantage_estimator");
    CHECK(stop_of("f.yaml", groups + "reward_model: llama-3.2-1b\n") == "refused reward_model");
}

// ms-swift 4.6 trainers/arguments.py TrainArgumentsMixin.
TEST_CASE("ms-swift accumulates batches to sixteen rows") {
    const std::string base = "model: llama-3.2-1b\nmax_length: 300\ntuner_type: lora\n";
    CHECK(plan_in("f.yaml", base).training.gradient_accumulation_steps == 16);
    CHECK(plan_in("f.yaml", base + "per_device_train_batch_size: 3\n").training.gradient_accumulation_steps == 6);
    CHECK(plan_in("f.yaml", base + "per_device_train_batch_size: 32\n").training.gradient_accumulation_steps == 1);
    CHECK(plan_in("f.yaml", base + "gradient_accumulation_steps: 2\n").training.gradient_accumulation_steps == 2);
}

// axolotl 0.19 core/builders/rl.py, core/trainers/dpo.
TEST_CASE("axolotl's rl and reward_model") {
    const TrainPlan dpo = plan_in("f.yml", kAxolotl + kAdapter + "rl: dpo\ndpo_loss_type: [ipo, sft]\n");
    CHECK(dpo.loop.kind == LoopKind::dpo);
    CHECK(dpo.preference.maker == TrainerMaker::axolotl);
    CHECK(dpo.preference.loss_types == std::vector{PairLoss::ipo, PairLoss::sft});
    CHECK(dpo.trl_makes_adapters);
    CHECK(plan_in("f.yml", kAxolotl + kAdapter + "rl: ipo\n").preference.loss_types == std::vector{PairLoss::ipo});
    const TrainPlan kto = plan_in("f.yml", kAxolotl + kAdapter + "rl: kto\n");
    CHECK(kto.loop.kind == LoopKind::kto);
    CHECK(kto.preference.maker == TrainerMaker::trl);
    CHECK(kto.batch.pairs.chosen_shorter.front() == 1);  // rows that differ are padded
    const std::string full = kAxolotl + "flash_attention: true\n";
    CHECK(plan_in("f.yml", full + "rl: simpo\ncpo_alpha: 0\n").preference.contrast_loss == ContrastLoss::simpo);
    CHECK(plan_in("f.yml", full + "reward_model: true\nnum_labels: 1\n").loop.kind == LoopKind::reward);
    CHECK(stop_of("f.yml", kAxolotl + kAdapter + "rl: ebft\n") == "refused rl");
    CHECK_FALSE(plan_in("f.yml", kAxolotl + kAdapter + "rl: orpo\n").trl_makes_adapters);  // load_adapter
    CHECK(stop_of("f.yml", kAxolotl + kAdapter + "rl: dpo\ndpo_use_liger_kernel: true\n") ==
          "refused dpo_use_liger_kernel");
    CHECK(stop_of("f.yml", kAxolotl + kAdapter + "rl: dpo\nsample_packing: true\n") ==
          "invalid f.yml:10:1 sample_packing");
}

// axolotl 0.19 train.py setup_reference_model; core/builders/rl.py _get_trainer_cls.
TEST_CASE("axolotl loads a reference itself where there is no adapter, and gives it to DPO alone") {
    const std::string full = kAxolotl + "flash_attention: true\n";
    const auto source = [](const std::string& text) { return plan_in("f.yml", text).preference.reference_source; };
    CHECK(source(full + "rl: dpo\n") == ReferenceSource::given);
    CHECK(source(full + "rl: ipo\n") == ReferenceSource::given);
    CHECK(source(full + "rl: kto\n") == ReferenceSource::unused);
    CHECK(source(full + "rl: simpo\n") == ReferenceSource::unused);
    CHECK(source(full + "rl: orpo\n") == ReferenceSource::trainer);
    CHECK(source(full + "reward_model: true\n") == ReferenceSource::trainer);
    CHECK(source(kAxolotl + kAdapter + "rl: dpo\n") == ReferenceSource::trainer);
    CHECK(source(kAxolotl + kAdapter + "rl: dpo\nrl_adapter_ref_model: true\n") == ReferenceSource::given);
    CHECK(stop_of("f.yml", full + "rl: dpo\nprecompute_ref_log_probs: true\n") == "refused precompute_ref_log_probs");
    CHECK(stop_of("f.yml", kAxolotl + kAdapter + "rl: dpo\nprecompute_ref_log_probs: true\n") == "");
}
