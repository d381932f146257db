// Job files: every job of the reference traces, every default, and everything that is refused.
#include "vramfit/spec/job.hpp"

#include <fmt/format.h>

#include "expect.hpp"
#include "spec/json_parse.hpp"
#include "support/catch.hpp"
#include "vramfit/spec/config.hpp"
#include "vramfit/spec/modules.hpp"
#include "vramfit/spec/plan_check.hpp"
#include "vramfit/spec/stacks.hpp"

using namespace vramfit;

namespace {

Job job_of(const std::string& text) { return read_job(text, "job.json", {}); }

// A job with one more member.
std::string job(const std::string& member) {
    return R"({"schema": "vramfit.job/1", "model": "gemma-2b")" + (member.empty() ? "" : ", " + member) + "}";
}

std::optional<Error> refused_job(const std::string& member) {
    return error_of([&] { job_of(job(member)); });
}

bool is_unsupported(const std::string& member) {
    const auto error = refused_job(member);
    return error && error->kind() == ErrorKind::unsupported;
}

void check_same(const Job& a, const Job& b) {
    CHECK(a.model == b.model);
    CHECK(a.plan == b.plan);
    CHECK(a.stack == b.stack);
    CHECK(a.device.name == b.device.name);
    CHECK(a.device.capability == b.device.capability);
    CHECK(a.device.multiprocessors == b.device.multiprocessors);
    CHECK(a.device.total == b.device.total);
    CHECK(a.device.usable == b.device.usable);
    CHECK(a.device.alloc_conf == b.device.alloc_conf);
    CHECK(a.device.cublas_workspace_config == b.device.cublas_workspace_config);
}

}  // namespace

TEST_CASE("every job of the reference traces is read, written and read again") {
    const auto lines = lines_of("jobs.jsonl");
    CHECK(lines.size() == 171);
    for (const std::string& line : lines) {
        Problems problems("jobs.jsonl");
        const JsonValue row = parse_json(line, problems);
        REQUIRE(problems.none());
        const std::string text = to_text(*row.find("job"));
        INFO(row.find("job")->find("name")->text);
        const Job first = job_of(text);
        check_same(first, job_of(to_json_text(first)));
        const JsonValue* parameters = row.find("parameters");
        if (parameters && !first.plan.peft && !first.plan.load.quantization && !first.plan.load.resize_token_embeddings)
            CHECK(total_parameters(first.model) == parameters->integer);
        // What ran makes a sensible plan; of what the libraries refused some is not seen before it is recorded.
        if (row.find("outcome")->text != "refused")
            CHECK_FALSE(error_of([&] { check_plan(first.model, first.plan, first.stack); }));
    }
}

TEST_CASE("a job of a model alone has the defaults of the schema") {
    const Job j = job_of(job(""));
    CHECK(j.plan == TrainPlan{});
    CHECK(j.model.name == "gemma-2b");
    CHECK(j.stack.name == kDefaultStack);
    CHECK_FALSE(j.device.capacity_known);
    CHECK(j.plan.load.dtype == DType::bfloat16);
    CHECK(j.plan.training.optim == "adamw_torch");
    check_same(j, job_of(to_json_text(j)));
}

TEST_CASE("what has no effect beside another key is written and read again") {
    const Job j = job_of(job(
        R"("load": {"quantization_config": {"load_in_8bit": true, "bnb_4bit_quant_storage": "float16", "bnb_4bit_compute_dtype": "float16"}})"));
    check_same(j, job_of(to_json_text(j)));
}

TEST_CASE("the cache is emptied every n updates where Trainer knows how") {
    const char* const member = R"("training": {"torch_empty_cache_steps": 2})";
    const Job j = job_of(job(member));
    CHECK(j.plan.training.torch_empty_cache_steps == 2);
    check_same(j, job_of(to_json_text(j)));
    CHECK(refused_job(R"("training": {"torch_empty_cache_steps": 0})"));
    const Job older = job_of(job(R"("stack": "hf-2024-04", "training": {"torch_empty_cache_steps": 2})"));
    CHECK(error_of([&] { check_plan(older.model, older.plan, older.stack); })->kind() == ErrorKind::unsupported);
}

TEST_CASE("the outermost keys") {
    CHECK(says(error_of([] { job_of(R"({"model": "gemma-2b"})"); }), "job.json /schema", "vramfit.job/1"));
    CHECK(says(error_of([] { job_of(R"({"schema": "vramfit.job/2", "model": "gemma-2b"})"); }), "job.json /schema",
               "unknown schema"));
    CHECK(says(error_of([] { job_of(R"({"schema": "vramfit.job/1"})"); }), "job.json /model", "missing"));
    CHECK(says(refused_job(R"("trainig": {})"), "job.json /trainig", "did you mean 'training'?"));
    CHECK(says(refused_job(R"("stack": "hf2026-11")"), "job.json /stack", "did you mean"));
    CHECK(says(refused_job(R"("stack": {"torch": 2.6})"), "job.json /stack/torch", "write it as a text"));
    CHECK(says(refused_job(R"("name": 1)"), "job.json /name", "a text is wanted"));
    CHECK(says(error_of([] {
                   job_of(R"({"schema": "vramfit.job/1", "model": {"model_type": "llama", "hidden_size": "x"}})");
               }),
               "job.json /model/hidden_size", "an integer"));
    CHECK(says(error_of([] { job_of(R"({"schema": "vramfit.job/1", "model": "gema-2b"})"); }), "job.json /model",
               "did you mean 'gemma-2b'?"));
    CHECK(error_of([] { job_of("[]"); }));
    CHECK(job_of(R"({"schema": "vramfit.job/1", "name": "mine", "model": {"model_type": "llama"}})").model.name ==
          "mine");
}

TEST_CASE("typing mistakes and wrong values in every section") {
    struct Row {
        const char* member;
        const char* place;
        const char* part;
    };
    const Row rows[] = {
        {R"("load": {"dtype": "bf16x"})", "/load/dtype", "unknown value 'bf16x'"},
        {R"("load": {"attn_implementation": "sdqa"})", "/load/attn_implementation", "did you mean 'sdpa'?"},
        {R"("load": {"device_map": 0})", "/load/device_map", "a device map"},
        {R"("load": {"shard_size": "5GB"})", "/load/shard_size", "an integer"},
        {R"("load": {"shardsize": 1})", "/load/shardsize", "did you mean 'shard_size'?"},
        {R"("load": {"quantization_config": {}})", "/load/quantization_config/load_in_4bit", "neither"},
        {R"("load": {"quantization_config": {"load_in_4bit": true, "load_in_8bit": true}})",
         "/load/quantization_config/load_in_4bit", "exclude"},
        {R"("load": {"quantization_config": {"load_in_4bit": true, "bnb_4bit_quant_typ": "nf4"}})",
         "/load/quantization_config/bnb_4bit_quant_typ", "did you mean 'bnb_4bit_quant_type'?"},
        {R"("prepare_kbit": {"use_gradient_checkpointing": "yes"})", "/prepare_kbit/use_gradient_checkpointing",
         "true or false"},
        {R"("peft": {"r": 0})", "/peft/r", "0 is not between 1"},
        {R"("peft": {"r": 8.0})", "/peft/r", "an integer"},
        {R"("peft": {"lora_dropout": 1.5})", "/peft/lora_dropout", "not between 0 and 1"},
        {R"("peft": {"target_modules": [1]})", "/peft/target_modules", "a list of texts"},
        {R"("peft": {"taget_modules": []})", "/peft/taget_modules", "did you mean 'target_modules'?"},
        {R"("peft": {"bias": "some"})", "/peft/bias", "unknown value 'some'"},
        {R"("peft": {"init_lora_weights": "random"})", "/peft/init_lora_weights", "unknown initialization"},
        {R"("trl": {"packing": true})", "/trl/packing", "unknown key"},
        {R"("training": {"per_device_train_batch_size": 0})", "/training/per_device_train_batch_size",
         "0 is not between 1"},
        {R"("training": {"per_device_train_batch_size": true})", "/training/per_device_train_batch_size",
         "an integer is wanted, not true"},
        {R"("training": {"gradient_accumulation_steps": 0})", "/training/gradient_accumulation_steps",
         "0 is not between"},
        {R"("training": {"optim": "adamw_troch"})", "/training/optim", "did you mean 'adamw_torch'?"},
        {R"("training": {"max_grad_norm": -1})", "/training/max_grad_norm", "-1 is below 0"},
        {R"("training": {"learnig_rate": 1})", "/training/learnig_rate", "did you mean 'learning_rate'?"},
        {R"("batch": {"sequence_length": 0})", "/batch/sequence_length", "0 is not between"},
        {R"("batch": {"labels": "copyy"})", "/batch/labels", "did you mean 'copy'?"},
        {R"("loop": {"kind": "trainr"})", "/loop/kind", "did you mean 'trainer'?"},
        {R"("loop": {"steps": 1001})", "/loop/steps", "not between 1 and 1000"},
        {R"("loop": {"peak_window": {"steps": [3]}})", "/loop/peak_window/steps/0", "3 is not between 1 and 2"},
        {R"("loop": {"peak_window": {"steps": []}})", "/loop/peak_window/steps", "a list of steps"},
        {R"("loop": {"phase_step": 3})", "/loop/phase_step", "3 is not between 1 and 2"},
        {R"("loop": {"before": [{"grad": 1}]})", "/loop/before/0/grad", "true or false"},
        {R"("device": {"name": "rtx 4900"})", "/device", "unknown GPU"},
        {R"("device": {"total_bytes": 100, "vram_bytes": 101})", "/device/vram_bytes", "differs"},
        {R"("card": "aa100")", "/card", "did you mean 'a100'?"},
        {R"("environment": {"PATH": "x"})", "/environment/PATH", "unknown key"},
        {R"("environment": {"PYTORCH_ALLOC_CONF": "a", "PYTORCH_CUDA_ALLOC_CONF": "b"})",
         "/environment/PYTORCH_ALLOC_CONF", "differs"},
    };
    for (const Row& row : rows) {
        INFO(row.member);
        const auto error = refused_job(row.member);
        REQUIRE(error);
        INFO(error->what());
        CHECK(error->kind() == ErrorKind::invalid);
        CHECK(says(error, fmt::format("job.json {}", row.place), row.part));
    }
}

TEST_CASE("known but not predicted") {
    for (const char* member :
         {R"("distributed": {"kind": "tp", "tp": {"tp_plan": {}}})",
          R"("loop": {"kind": "dpo"}, "training": {"loss_type": "aot"})", R"("loop": {"kind": "gold"})",
          R"("training": {"deepspeed": "ds.json"})", R"("training": {"torch_compile": true})",
          R"("training": {"eval_strategy": "epoch"})",
          R"("training": {"eval_strategy": "steps", "batch_eval_metrics": true})",
          R"("training": {"neftune_noise_alpha": 5})", R"("load": {"device_map": "auto"})",
          R"("load": {"quantization_config": {"quant_method": "gptq", "bits": 4}})", R"("peft": {"peft_type": "POLY"})",
          R"("peft": {"init_lora_weights": "eva"})", R"("peft": {"layer_replication": [[0, 4]]})",
          R"("peft": {"task_type": "SEQ_CLS"})", R"("loop": {"kind": "sft"}, "training": {"packing": true})"}) {
        INFO(member);
        if (std::string(member).find("gptq") == std::string::npos)
            CHECK(is_unsupported(member));
        else
            CHECK(refused_job(member));
    }
    CHECK_FALSE(refused_job(
        R"("distributed": null, "training": {"deepspeed": null, "eval_strategy": "no", "torch_compile": false, "fsdp": "", "learning_rate": 1e-4, "warmup_ratio": 0.1, "report_to": "none"})"));
}

TEST_CASE("evaluation is asked for by the arguments of training") {
    const Job read = job_of(job(
        R"("training": {"eval_strategy": "steps", "eval_steps": 3, "eval_on_start": true, "eval_accumulation_steps": 2}, "evaluation": {"batches": 5, "sequence_length": 99, "attention_mask": "right_padded"})"));
    REQUIRE(read.plan.evaluation);
    CHECK(*read.plan.evaluation == EvaluationPlan{8, true, 3, 2, 5, 99, AttentionMask::right_padded});
    check_same(read, job_of(to_json_text(read)));
    CHECK(job_of(job(R"("training": {"evaluation_strategy": "steps", "per_device_eval_batch_size": 4})"))
              .plan.evaluation == EvaluationPlan{4, false, 1, {}, 2, {}, {}});
    CHECK_FALSE(
        job_of(job(R"("training": {"per_device_eval_batch_size": 4}, "evaluation": {"batches": 3})")).plan.evaluation);
}

TEST_CASE("sequences are cut under FSDP2 only") {
    const std::string text =
        job(R"("distributed": {"kind": "fsdp2", "world_size": 4, "cp_size": 2, "cp_comm_strategy": "alltoall"})");
    const Job read = job_of(text);
    REQUIRE(read.plan.distributed);
    REQUIRE(read.plan.distributed->as<Fsdp2Plan>());
    CHECK(read.plan.distributed->as<Fsdp2Plan>()->context == ContextPlan{2, false});
    CHECK(read.plan.distributed->replicas() == 2);
    check_same(read, job_of(to_json_text(read)));
    CHECK_FALSE(refused_job(R"("distributed": {"kind": "ddp", "world_size": 2, "cp_size": 1})"));
    CHECK(says(refused_job(R"("distributed": {"kind": "fsdp1", "world_size": 2, "cp_size": 2})"),
               "job.json /distributed/cp_size", "requires FSDP2"));
    CHECK(refused_job(R"("distributed": {"kind": "fsdp2", "world_size": 2, "cp_size": 0})"));
    CHECK(refused_job(R"("distributed": {"kind": "fsdp2", "cp_size": 2, "cp_comm_strategy": "ring"})"));
}

TEST_CASE("DeepSpeed under training is one process that loads first") {
    const std::string text = job(R"("training": {"fp16": true, "deepspeed": {"zero_optimization": {"stage": 3}}})");
    const Job read = job_of(text);
    REQUIRE(read.plan.distributed);
    CHECK(read.plan.distributed->world_size == 1);
    CHECK(read.plan.distributed->load_first);
    REQUIRE(read.plan.distributed->as<ZeroPlan>());
    CHECK(read.plan.distributed->as<ZeroPlan>()->stage == 3);
    check_same(read, job_of(to_json_text(read)));
    CHECK(refused_job(
        R"("distributed": {"kind": "ddp"}, "training": {"deepspeed": {"zero_optimization": {"stage": 2}}})"));
}

TEST_CASE("all problems of a job come at once, and one that is not understood decides") {
    const auto error = refused_job(
        R"("distributed": {"kind": "tp", "tp": {"tp_plan": {}}}, "peft": {"r": 0, "alpha": 2}, "batch": {"sequence_length": "long"}, "card": "x")");
    REQUIRE(error);
    CHECK(error->kind() == ErrorKind::invalid);
    CHECK(error->problems().size() == 5);
}

TEST_CASE("cards of jobs") {
    CHECK(job_of(job(R"("card": "t4")")).device.usable.count == 15728640000);
    CHECK(job_of(job(R"("card": "t4", "device": {"name": null, "vram_bytes": null})")).device.name == "Tesla T4");
    const Device named = job_of(job(R"("card": "t4", "device": {"name": "A100 80GB"})")).device;
    CHECK(named.name == "NVIDIA A100-SXM4-80GB");
    const Device exact =
        job_of(job(R"("device": {"name": "RTX 4090", "total_bytes": 25000000000, "free_bytes": 24000000000})")).device;
    CHECK(exact.usable.count == 24000000000);
    CHECK(exact.multiprocessors == 128);
    CHECK(exact.notes.empty());
    const Device size = job_of(job(R"("device": {"vram_bytes": 8589475840})")).device;
    CHECK(size.total.count == 8589475840);
    CHECK(refused_job(R"("device": {"total_bytes": 10, "free_bytes": 20})"));
    CHECK(job_of(job(R"("environment": {"PYTORCH_ALLOC_CONF": "expandable_segments:True"})")).device.alloc_conf ==
          "expandable_segments:True");
    for (const char* const value : {"1", "true", "Yes", "ON"}) {
        const Job sequential =
            job_of(job(fmt::format(R"("environment": {{"HF_DEACTIVATE_ASYNC_LOAD": "{}"}})", value)));
        CHECK(sequential.plan.load.without_threads);
        check_same(sequential, job_of(to_json_text(sequential)));
    }
    CHECK_FALSE(job_of(job(R"("environment": {"HF_DEACTIVATE_ASYNC_LOAD": "0"})")).plan.load.without_threads);
}

TEST_CASE("adapters in full are read and written") {
    const Job j = job_of(job(
        R"("peft": {"r": 4, "lora_alpha": 8.5, "target_modules": ["q_proj"], "exclude_modules": "x.*", "layers_to_transform": 1, "layers_pattern": "layers",
        "rank_pattern": {"layers.0.*": 2}, "alpha_pattern": {"q_proj": 3}, "modules_to_save": ["lm_head"], "use_dora": true, "init_lora_weights": false, "inference_mode": false, "lora_bias": true})"));
    const LoraPlan& lora = j.plan.peft.value();
    CHECK(lora.layers_to_transform == std::vector<std::int64_t>{1});
    CHECK(lora.rank_pattern.at(0).second == 2);
    CHECK(lora.init_lora_weights == "false");
    check_same(j, job_of(to_json_text(j)));
    CHECK_FALSE(to_json_text(j.plan).empty());
}
