// Every format: what its files become, that every key that is used matters, and where refusals stand.
#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "spec/config_read.hpp"
#include "support/catch.hpp"
#include "unit/trainers/asked.hpp"
#include "vramfit/base/error.hpp"
#include "vramfit/spec/config.hpp"
#include "vramfit/spec/plan_check.hpp"
#include "vramfit/spec/stacks.hpp"
#include "vramfit/trainers/reading.hpp"

using namespace vramfit;
using test::asked_of;

namespace {

TrainerQuestion question_of(std::string name, std::string text) {
    return asked_of({{std::move(name), std::move(text)}});
}

Reading read(std::string name, std::string text) {
    return read_trainer_files(question_of(std::move(name), std::move(text)));
}

const Refusal* refusal_of(const Reading& reading, std::string_view key) {
    for (const Refusal& each : reading.refusals)
        if (each.key == key) return &each;
    return nullptr;
}

/// Everything of the answer that a key may change.
std::string summary(const TrainerQuestion& question) {
    try {
        const Reading r = read_trainer_files(question);
        std::string out = r.job.model.name + "\n" + to_config_text(r.job.model) + to_json_text(r.job.plan);
        for (const Refusal& each : r.refusals) out += each.key + ": " + each.what + "\n";
        return out;
    } catch (const Error& error) {
        return error.what();
    }
}

struct Base {
    const char* name;
    const char* text;
};

const std::multimap<std::string, Base> kBases = {
    {"axolotl",
     {"f.yaml",
      "base_model: llama-3.2-1b\ndatasets: []\nsequence_len: 512\nmicro_batch_size: 2\nadapter: qlora\n"
      "load_in_4bit: true\nlora_r: 8\nlora_target_modules: [q_proj]\nbf16: true\nattn_implementation: "
      "flash_attention_2\nplugins: [axolotl.integrations.liger.LigerPlugin]\nliger_rope: true\nliger_rms_norm: "
      "true\nliger_glu_activation: true\nliger_fused_linear_cross_entropy: true\n"}},
    {"axolotl",
     {"f.yaml",
      "base_model: llama-3.2-1b\ndatasets: []\nsequence_len: 512\nmicro_batch_size: 4\nadapter: lora\nlora_r: "
      "8\nval_set_size: 0.1\nevals_per_epoch: 1\neval_batch_size: 8\nbf16: false\nsample_packing: "
      "true\nflash_attention: true\n"}},
    {"axolotl",
     {"f.yaml",
      "base_model: starcoder2-3b\ndatasets: []\nmicro_batch_size: 2\nval_set_size: 0.1\n"
      "eval_batch_size: 8\nplugins: [axolotl.integrations.liger.LigerPlugin]\nliger_rope: true\n"
      "liger_rms_norm: true\nliger_swiglu: true\nliger_fused_linear_cross_entropy: true\nbf16: false\n"}},
    {"axolotl",
     {"f.yaml",
      "base_model: gpt2\ndatasets: []\nmicro_batch_size: 2\nadapter: lora\nlora_r: 8\nbf16: false\n"
      "gradient_checkpointing: true\n"}},
    {"axolotl",
     {"f.yaml",
      "base_model: llama-3.2-1b\ndatasets: []\nsequence_len: 512\nmicro_batch_size: 4\nbf16: false\n"
      "fsdp_config: {state_dict_type: FULL_STATE_DICT}\n"}},
    {"llama-factory",
     {"f.yaml",
      "model_name_or_path: llama-3.2-1b\nstage: sft\ndo_train: true\nfinetuning_type: lora\nlora_target: "
      "q_proj\ntemplate: llama3\nper_device_train_batch_size: 4\nquantization_bit: 4\neval_strategy: steps\n"}},
    {"llama-factory",
     {"f.yaml",
      "model_name_or_path: llama-3.2-1b\nstage: sft\ndo_train: true\nfinetuning_type: full\ntemplate: x\n"
      "per_device_train_batch_size: 4\nper_device_eval_batch_size: 8\nbf16: true\n"}},
    {"llama-factory",
     {"f.yaml",
      "model_name_or_path: mixtral-8x7b-v0.1\nstage: sft\ndo_train: true\nfinetuning_type: lora\nlora_target: "
      "q_proj\ntemplate: x\nper_device_train_batch_size: 4\n"}},
    {"llama-factory",
     {"f.yaml",
      "model_name_or_path: llama-3.2-1b\nstage: dpo\ndo_train: true\nfinetuning_type: lora\nlora_target: "
      "q_proj\ntemplate: llama3\ncutoff_len: 512\n"}},
    {"trl",
     {"f.yaml",
      "model_name_or_path: llama-3.2-1b\nuse_peft: true\nload_in_4bit: true\nlora_target_modules: "
      "[q_proj]\nper_device_train_batch_size: 4\neval_strategy: steps\nper_device_eval_batch_size: 4\n"}},
    {"trl",
     {"f.yaml",
      "model_name_or_path: llama-3.2-1b\nper_device_train_batch_size: 4\npacking: true\n"
      "per_device_eval_batch_size: 8\n"}},
    {"trl-preferences",
     {"f.yaml",
      "model_name_or_path: llama-3.2-1b\nuse_peft: true\nload_in_4bit: true\nlora_target_modules: "
      "[q_proj]\nper_device_train_batch_size: 4\neval_strategy: steps\nper_device_eval_batch_size: 4\n"
      "use_weighting: false\n"}},
    {"trl-preferences",
     {"f.yaml",
      "model_name_or_path: mixtral-8x7b-v0.1\nper_device_train_batch_size: 4\nbeta: 0.1\noutput_dir: a-dpo\n"
      "per_device_eval_batch_size: 8\n"}},
    {"training-args",
     {"f.json",
      "{\"per_device_train_batch_size\": 4, \"output_dir\": \"x\", \"model_name_or_path\": "
      "\"llama-3.2-1b\", \"eval_strategy\": \"steps\", \"per_device_eval_batch_size\": 4}"}},
    {"training-args",
     {"f.json",
      "{\"per_device_train_batch_size\": 4, \"output_dir\": \"x\", \"model_name_or_path\": "
      "\"llama-3.2-1b\", \"per_device_eval_batch_size\": 8}"}},
    {"training-args",
     {"f.json",
      "{\"per_device_train_batch_size\": 4, \"output_dir\": \"x\", \"model_name_or_path\": \"llama-3.2-1b\", "
      "\"fsdp\": \"full_shard auto_wrap\", \"fsdp_config\": {}}"}},
    {"trl",
     {"f.yaml",
      "model_name_or_path: llama-3.2-1b\nper_device_train_batch_size: 4\nfsdp: [full_shard, auto_wrap]\n"
      "fsdp_config: {}\n"}},
    {"ms-swift",
     {"f.yaml",
      "model: llama-3.2-1b\ntrain_type: lora\nmax_length: 512\nquant_method: bnb\nquant_bits: 4\n"
      "target_modules: [q_proj]\neval_strategy: steps\nper_device_eval_batch_size: 1\n"}},
    {"ms-swift",
     {"f.yaml",
      "model: llama-3.2-1b\ntrain_type: full\nmax_length: 512\nper_device_eval_batch_size: 8\n"
      "per_device_train_batch_size: 4\n"}},
    {"ms-swift", {"f.yaml", "model: llama-3.2-1b\nsft_type: lora\nmax_length: 512\n"}},
    {"ms-swift", {"f.yaml", "model: llama-3.2-1b\ntuner_type: full\nrlhf_type: dpo\nmax_length: 512\noptim: sgd\n"}},
    {"torchtune",
     {"f.yaml",
      "model:\n  _component_: torchtune.models.llama3_2.lora_llama3_2_1b\n  lora_attn_modules: "
      "[q_proj]\ntokenizer:\n  max_seq_len: 512\noptimizer:\n  _component_: torch.optim.AdamW\n"
      "batch_size: 4\nbatch_size_val: 8\n"}},
    {"torchtune",
     {"f.yaml",
      "model:\n  _component_: torchtune.models.llama3_2.lora_llama3_2_1b\n  lora_attn_modules: "
      "[q_proj]\ntokenizer:\n  max_seq_len: 512\noptimizer:\n  _component_: torch.optim.AdamW\n"
      "batch_size: 4\nrun_val_every_n_steps: 10\n"}},
    {"litgpt",
     {"f.yaml",
      "checkpoint_dir: checkpoints/meta-llama/Llama-3.2-1B\nprecision: bf16-true\nlora_r: 8\nquantize: "
      "bnb.nf4\ntrain:\n  "
      "max_seq_length: 512\n  micro_batch_size: 2\n  global_batch_size: 16\neval: {}\n"}},
    {"litgpt", {"f.yaml", "model_name: llama-3.2-1b\nprecision: bf16-true\ntrain:\n  max_seq_length: 512\neval: {}\n"}},
    {"litgpt",
     {"f.yaml",
      "model_name: mine\nmodel_config:\n  n_layer: 6\n  n_head: 6\n  n_query_groups: 6\n  n_embd: 288\n  head_size: "
      "48\n  intermediate_size: 768\n  norm_class_name: RMSNorm\n  mlp_class_name: LLaMAMLP\n  bias: false\n  "
      "parallel_residual: false\n  rotary_percentage: 1.0\nprecision: bf16-true\ntrain:\n  max_seq_length: 256\n"
      "eval: {}\n"}},
    {"unsloth-studio",
     {"f.yaml", "model: llama-3.2-1b\ntraining:\n  training_type: lora\nlora:\n  lora_r: 8\nlogging: {}\n"}},
    {"peft-adapter", {"f.json", "{\"peft_type\": \"LORA\", \"base_model_name_or_path\": \"llama-3.2-1b\"}"}},
};

/// The question with the key set to a value; the length is given where the file leaves it to the data.
TrainerQuestion with(const std::string& format, const Base& base, const std::string& key, const std::string& value) {
    TrainerQuestion question = question_of(base.name, base.text);
    question.edits = {{key, value}};
    question.format_of = format;
    if (std::string_view(base.name).ends_with(".json") || std::string_view(base.text).find("seq") == std::string::npos)
        question.seq = 400;
    if (std::string_view(base.text).find("fsdp") != std::string::npos) question.gpus = 4;
    return question;
}

}  // namespace

TEST_CASE("files have the stack of their trainer unless one is asked for") {
    const std::pair<const char*, std::string_view> rows[] = {{"axolotl", "axolotl-0.19"},
                                                             {"llama-factory", "llamafactory-0.9.5"},
                                                             {"ms-swift", "swift-4.6"},
                                                             {"unsloth-studio", "unsloth-2026.10"},
                                                             {"trl", kDefaultStack}};
    for (const auto& [format, stack] : rows) {
        INFO(format);
        const auto base = kBases.find(format);
        REQUIRE(base != kBases.end());
        TrainerQuestion question = question_of(base->second.name, base->second.text);
        question.stack = stack_from("hf-2026-01").stack;
        CHECK(read_trainer_files(question).job.stack.name == "hf-2026-01");
        CHECK(read_trainer_files(question).input("stack")->source == InputSource::flag);
        question.stack = {};
        const Reading reading = read_trainer_files(question);
        CHECK(reading.job.stack == stack_from(stack).stack);
        CHECK(reading.input("stack")->value == stack);
        CHECK(reading.input("stack")->source == InputSource::trainer_default);
    }
}

TEST_CASE("every key that a format uses changes the answer or is refused") {
    int tested = 0;
    for (const KnownTrainer& known : known_trainers()) {
        const auto [first, last] = kBases.equal_range(known.name);
        for (const KnownKey& key : known.keys) {
            if (key.use != KeyUse::used || key.samples.empty() || first == last) continue;
            const std::size_t bar = key.samples.find('|');
            const std::string one = key.samples.substr(0, bar);
            const std::string two = key.samples.substr(bar + 1);
            bool differs = false;
            for (auto base = first; base != last && !differs; ++base)
                differs = summary(with(known.name, base->second, key.key, one)) !=
                          summary(with(known.name, base->second, key.key, two));
            INFO(known.name << " " << key.key << ": " << one << " against " << two);
            CHECK(differs);
            ++tested;
        }
    }
    CHECK(tested > 150);
}

TEST_CASE("every key that is not supported is refused at its place, or left out when told so") {
    for (const KnownTrainer& known : known_trainers()) {
        const auto base = kBases.find(known.name);
        if (base == kBases.end() || !std::string_view(base->second.name).ends_with(".yaml")) continue;
        const std::string text = base->second.text;
        const int line = static_cast<int>(std::count(text.begin(), text.end(), '\n')) + 1;
        for (const KnownKey& key : known.keys) {
            const bool simple = key.key.find('.') == std::string::npos && key.key.find('*') == std::string::npos;
            if (key.use != KeyUse::unsupported || !simple) continue;
            TrainerQuestion question = question_of(
                base->second.name, text + key.key + (key.key.starts_with("use_") ? ": true\n" : ": some-value\n"));
            question.seq = 400;
            question.format_of = known.name;  // such a key may be another format's sign
            const Reading reading = read_trainer_files(question);
            INFO(known.name << " " << key.key);
            const Refusal* refusal = refusal_of(reading, key.key);
            REQUIRE(refusal);
            CHECK(refusal->place == FilePlace{"f.yaml", {line, 1}});
            question.assume_off = {key.key};
            CHECK(refusal_of(read_trainer_files(question), key.key) == nullptr);
        }
    }
}

TEST_CASE("axolotl: qlora with packed rows") {
    const Reading r =
        read("q.yml",
             "base_model: NousResearch/Meta-Llama-3-8B\ndatasets: []\nload_in_4bit: true\nadapter: qlora\n"
             "sequence_len: 4096\nsample_packing: true\nlora_r: 32\nlora_target_linear: true\n"
             "micro_batch_size: 2\nbf16: auto\ngradient_checkpointing: true\nflash_attention: true\n");
    REQUIRE(r.refusals.empty());
    const TrainPlan& plan = r.job.plan;
    CHECK(plan.batch.sequence_length == 8192);
    CHECK(plan.training.per_device_train_batch_size == 1);
    CHECK(plan.load.quantization->double_quant);
    CHECK(plan.training.bf16);
    CHECK(plan.peft->r == 32);
    CHECK(std::get<std::string>(plan.peft->target_modules) == "all-linear");
    CHECK(r.input("batch.sequence_length")->place == FilePlace{"q.yml", {5, 1}});
}

// ms-swift 4.5 trainers/mixin.py _fix_gradient_checkpointing.
TEST_CASE("ms-swift checkpoints reentrantly on one card unless told otherwise") {
    const std::string text = "model: llama-3.2-1b\ntrain_type: lora\nmax_length: 512\n";
    CHECK(read("f.yaml", text).job.plan.training.use_reentrant == true);
    CHECK(read("f.yaml", text + "gradient_checkpointing: false\n").job.plan.training.use_reentrant == std::nullopt);
    CHECK(read("f.yaml", text + "gradient_checkpointing_kwargs: {use_reentrant: false}\n")
              .job.plan.training.use_reentrant == false);
}

// axolotl 0.18 loaders/model.py _configure_embedding_dtypes, _prepare_model_for_quantization.
TEST_CASE("axolotl casts to float32 and back while it loads, and prepares quantized models") {
    const std::string text =
        "base_model: llama-3.2-1b\ndatasets: []\nlora_r: 8\nlora_target_linear: true\nbf16: true\n";
    const TrainPlan lora = read("l.yml", text + "adapter: lora\n").job.plan;
    CHECK(lora.load.upcast == UpcastParts::norms_and_embeddings);
    CHECK_FALSE(lora.prepare_kbit);
    CHECK(read("l.yml", text + "adapter: lora\nembeddings_skip_upcast: true\n").job.plan.load.upcast ==
          UpcastParts::norms_and_embeddings);
    const std::string qlora = text + "adapter: qlora\nload_in_4bit: true\n";
    CHECK(read("q.yml", qlora).job.plan.load.upcast == UpcastParts::norms_and_embeddings);
    REQUIRE(read("q.yml", qlora).job.plan.prepare_kbit);
    CHECK_FALSE(read("q.yml", qlora).job.plan.prepare_kbit->use_gradient_checkpointing);
    CHECK(read("q.yml", qlora + "gradient_checkpointing: true\n").job.plan.prepare_kbit->use_gradient_checkpointing);
    CHECK(read("q.yml", qlora + "embeddings_skip_upcast: true\n").job.plan.load.upcast == UpcastParts::norms);
    CHECK(read("8.yml", text + "adapter: lora\nload_in_8bit: true\n").job.plan.prepare_kbit);
    CHECK_FALSE(read("full.yml", text + "attn_implementation: flash_attention_2\n").job.plan.load.upcast_stays);
}

TEST_CASE("LLaMA-Factory: full training keeps trained weights in float32 unless pure_bf16") {
    const std::string text =
        "model_name_or_path: llama-3.2-1b\nstage: sft\ndo_train: true\nfinetuning_type: full\n"
        "template: llama3\nbf16: true\n";
    CHECK(read("f.yaml", text).job.plan.load.dtype == DType::float32);
    CHECK(read("f.yaml", text + "pure_bf16: true\n").job.plan.load.dtype == DType::bfloat16);
    CHECK(read("f.yaml", text).job.plan.training.gradient_checkpointing);
    CHECK(read("f.yaml", text).job.plan.training.per_device_train_batch_size == 8);
}

TEST_CASE("LitGPT: a network given by hand is Llama's, or refused by its key") {
    const std::string text =
        "model_name: mine\nmodel_config:\n  n_layer: 6\n  n_head: 6\n  n_embd: 288\n  intermediate_size: 768\n"
        "  padded_vocab_size: 32000\n  norm_class_name: RMSNorm\n  bias: false\n  parallel_residual: false\n"
        "  rotary_percentage: 1.0\n";
    const std::string rest = "precision: bf16-true\ntrain:\n  max_seq_length: 256\neval: {}\n";
    const Reading llama = read("f.yaml", text + "  mlp_class_name: LLaMAMLP\n" + rest);
    REQUIRE(llama.refusals.empty());
    CHECK(total_parameters(llama.job.model) == 24407712);
    const Reading gemma = read("f.yaml", text + "  mlp_class_name: GemmaMLP\n" + rest);
    const Refusal* refusal = refusal_of(gemma, "model_config.mlp_class_name");
    REQUIRE(refusal);
    CHECK(refusal->place == FilePlace{"f.yaml", {12, 3}});
    CHECK(refusal_of(read("f.yaml", text + rest), "model_config"));
}

TEST_CASE("files are read together: trainer, accelerate") {
    TrainerQuestion question = question_of("t.yaml", "model_name_or_path: llama-3.2-1b\nmax_length: 512\n");
    question.files.push_back(
        {"acc.yaml", "compute_environment: LOCAL_MACHINE\ndistributed_type: MULTI_GPU\nnum_processes: 4\n"});
    const Reading several = read_trainer_files(question);
    CHECK(several.refusals.empty());
    REQUIRE(several.job.plan.distributed);
    CHECK(several.job.plan.distributed->world_size == 4);
    CHECK(!several.job.plan.distributed->as<DdpPlan>()->find_unused_parameters);
    CHECK(several.input("gpus")->place == FilePlace{"acc.yaml", {3, 1}});
    question.gpus = 1;
    CHECK(!read_trainer_files(question).job.plan.distributed);
    question.gpus.reset();
    question.files[1].text = "distributed_type: MULTI_GPU\nnum_processes: 1\n";
    CHECK(!read_trainer_files(question).job.plan.distributed);
}

TEST_CASE("visible cards: what a launcher makes of them") {
    const auto cards = [](const std::string& line) {
        TrainerQuestion question = question_of("a.sh", line);
        question.seq = 128;
        question.open = [](const std::string&) {
            return std::optional<std::string>(
                "model_name_or_path: llama-3.2-1b\nstage: sft\ndo_train: true\nfinetuning_type: lora\ntemplate: x\n");
        };
        const Reading reading = read_trainer_files(question);
        const Refusal* refusal = refusal_of(reading, "CUDA_VISIBLE_DEVICES");
        if (refusal) CHECK(refusal->place == FilePlace{"a.sh", {1, 1}});
        return refusal ? std::string("refused") : reading.input("gpus")->value;
    };
    const std::string script = "run_clm.py --model_name_or_path llama-3.2-1b --per_device_train_batch_size 1\n";
    CHECK(cards("CUDA_VISIBLE_DEVICES=0,1,2 llamafactory-cli train x.yaml\n") == "3");
    CHECK(cards("CUDA_VISIBLE_DEVICES=3 llamafactory-cli train x.yaml\n") == "1");
    CHECK(cards("CUDA_VISIBLE_DEVICES=0,1 accelerate launch " + script) == "2");
    CHECK(cards("CUDA_VISIBLE_DEVICES=0,1 accelerate launch --num_processes 1 " + script) == "1");
    CHECK(cards("CUDA_VISIBLE_DEVICES=0,1 python " + script) == "refused");
    CHECK(cards("CUDA_VISIBLE_DEVICES=0,1 torchrun --nproc_per_node 2 " + script) == "2");
}

TEST_CASE("lengths: the longest under the cut; what packing makes of them") {
    TrainerQuestion question = question_of("t.yaml", "model_name_or_path: llama-3.2-1b\nmax_length: 512\n");
    question.lengths = {100, 300, 900};
    CHECK(read_trainer_files(question).job.plan.batch.sequence_length == 512);
    CHECK(read_trainer_files(question).rows.rows_cut == 1);
    question.lengths = {100, 300};
    CHECK(read_trainer_files(question).job.plan.batch.sequence_length == 300);
    question.edits = {{"packing", "true"}, {"per_device_train_batch_size", "2"}};
    CHECK(read_trainer_files(question).job.plan.batch.sequence_length == 1024);
}

TEST_CASE("a file with wrong values is one error with the place of each") {
    try {
        read("f.yaml", "base_model: llama-3.2-1b\ndatasets: []\nmicro_batch_size: many\nsequence_len: -4\n");
        FAIL("no error");
    } catch (const Error& error) {
        CHECK(error.kind() == ErrorKind::invalid);
        REQUIRE(error.problems().size() == 2);
        CHECK(error.problems()[0].where == "f.yaml:3:1 micro_batch_size");
        CHECK(error.problems()[1].where == "f.yaml:4:1 sequence_len");
    }
    for (const char* size : {"1e24", "-1e24", "1.5", ".inf", ".nan"})  // no 64-bit number is made of these
        CHECK_THROWS_AS(read("f.yaml", fmt::format("base_model: llama-3.2-1b\nsequence_len: {}\n", size)), Error);
    for (const char* text : {"hello: world\n", "- 1\n- 2\n", ""}) CHECK_THROWS_AS(read("f.yaml", text), Error);
}

TEST_CASE("formats are recognised from their content") {
    const auto format_of = [](const char* name, const char* text) {
        TrainerQuestion question = question_of(name, text);
        question.model = "llama-3.2-1b";
        question.seq = 128;
        return read_trainer_files(question).files.front().format;
    };
    CHECK(format_of("a.json", "{\"peft_type\": \"LORA\"}") == "peft-adapter");
    CHECK(format_of("a.json", "{\"zero_optimization\": {\"stage\": 2}}") == "deepspeed");
    CHECK(format_of("a.json", "{\"model_type\": \"llama\", \"hidden_size\": 8}") == "model-config");
    CHECK(format_of("a.yaml", "distributed_type: 'NO'\n") == "accelerate");
    CHECK(format_of("a.sh", "swift sft --model Qwen/Qwen2.5-7B-Instruct --max_length 512\n") == "ms-swift");
    const std::string json =
        "{\"model_name_or_path\": \"x\", \"output_dir\": \"o\", \"per_device_train_batch_size\": 1";
    CHECK(format_of("a.json", (json + ", \"block_size\": 64}").c_str()) == "training-args");  // run_clm.py a.json
    CHECK(format_of("a.json", (json + ", \"max_length\": 64}").c_str()) == "trl");
    CHECK(format_of("a.sh", "trl sft --model_name_or_path x\n") == "trl");
    CHECK(format_of("a.sh", "torchrun --nproc_per_node 1 run_clm.py --model_name_or_path x\n") == "training-args");
    CHECK(format_of("a.py",
                    "m, t = FastLanguageModel.from_pretrained('x', load_in_4bit=True)\n"
                    "SFTTrainer(model=m, args=SFTConfig())\n") == "unsloth-script");
}
