// Launch commands and the files of accelerate and DeepSpeed, as vramfit check reads them back.
#include "vramfit/methods/launch.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "spec/job_deepspeed.hpp"
#include "spec/json_value.hpp"
#include "vramfit/spec/plan_names.hpp"

namespace vramfit {

namespace {

constexpr const char* kScript = "train.py";

const char* word(bool value) { return value ? "true" : "false"; }

std::string capitals(std::string_view name) {
    std::string out(name);
    std::transform(out.begin(), out.end(), out.begin(),
                   [](char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 32) : c; });
    return out;
}

std::string path_in(const std::string& folder, const char* name) {
    if (folder.empty()) return name;
    return fmt::format("{}{}{}", folder, folder.back() == '/' ? "" : "/", name);
}

const char* precision_of(const TrainPlan& plan) {
    return plan.training.bf16 ? "bf16" : plan.training.fp16 ? "fp16" : "no";
}

/// accelerate 1.15.0, commands/config/config_args.py. Options are written even where they are the default, which
/// differs between accelerate and TrainingArguments.
std::string accelerate_file(const TrainPlan& plan, const char* type, const std::string& more) {
    return fmt::format(
        "compute_environment: LOCAL_MACHINE\ndistributed_type: {}\nmixed_precision: {}\nnum_machines: 1\n"
        "num_processes: {}\n{}",
        type, precision_of(plan), plan.distributed->world_size, more);
}

void wrap_options(std::string& out, WrapPolicy policy, std::int64_t least) {
    out += fmt::format("  fsdp_auto_wrap_policy: {}\n", capitals(name_in<WrapPolicy>(kWrapPolicyNames, policy)));
    if (policy == WrapPolicy::size_based) out += fmt::format("  fsdp_min_num_params: {}\n", least);
}

template <class Plan>
void shared_options(std::string& out, const Plan& fsdp) {
    out += fmt::format("  fsdp_activation_checkpointing: {}\n", word(fsdp.activation_checkpointing));
    out += fmt::format("  fsdp_cpu_ram_efficient_loading: {}\n", word(fsdp.cpu_ram_efficient_loading));
    out += fmt::format("  fsdp_offload_params: {}\n", word(fsdp.cpu_offload));
    out += "  fsdp_state_dict_type: SHARDED_STATE_DICT\n";
}

std::string options_of(const Fsdp2Plan& fsdp) {
    std::string out = "fsdp_config:\n  fsdp_version: 2\n";
    wrap_options(out, fsdp.wrap_policy, fsdp.min_num_params);
    out += fmt::format("  fsdp_reshard_after_forward: {}\n", word(fsdp.reshard_after_forward));
    shared_options(out, fsdp);
    if (fsdp.context.size > 1)
        out += fmt::format(
            "parallelism_config:\n  parallelism_config_cp_size: {}\n  parallelism_config_cp_comm_strategy: {}\n",
            fsdp.context.size, name_in<bool>(kContextStrategyNames, fsdp.context.gathers));
    return out;
}

std::string options_of(const Fsdp1Plan& fsdp) {
    std::string out = "fsdp_config:\n  fsdp_version: 1\n";
    wrap_options(out, fsdp.wrap_policy, fsdp.min_num_params);
    out += fmt::format("  fsdp_sharding_strategy: {}\n", capitals(name_of(fsdp.sharding_strategy)));
    out += fmt::format("  fsdp_backward_prefetch: {}\n", capitals(name_of(fsdp.backward_prefetch)));
    out += fmt::format("  fsdp_forward_prefetch: {}\n", word(fsdp.forward_prefetch));
    out += fmt::format("  fsdp_use_orig_params: {}\n", word(fsdp.use_orig_params));
    out += fmt::format("  fsdp_sync_module_states: {}\n", word(fsdp.sync_module_states));
    shared_options(out, fsdp);
    return out;
}

void launch_with_accelerate(Launch& launch, std::string text, const std::string& folder) {
    constexpr const char* kFile = "accelerate.yaml";
    launch.files.push_back({kFile, std::move(text)});
    launch.words = {"accelerate", "launch", "--config_file", path_in(folder, kFile), kScript};
}

void launch_with_torchrun(Launch& launch, const TrainPlan& plan) {
    launch.words = {"torchrun", "--nproc_per_node", std::to_string(plan.distributed->world_size), kScript};
}

void launch_with(const DdpPlan&, const TrainPlan& plan, const std::string& folder, Launch& launch) {
    launch_with_accelerate(launch, accelerate_file(plan, "MULTI_GPU", ""), folder);
}

void launch_with(const Fsdp1Plan& fsdp, const TrainPlan& plan, const std::string& folder, Launch& launch) {
    launch_with_accelerate(launch, accelerate_file(plan, "FSDP", options_of(fsdp)), folder);
}

void launch_with(const Fsdp2Plan& fsdp, const TrainPlan& plan, const std::string& folder, Launch& launch) {
    launch_with_accelerate(launch, accelerate_file(plan, "FSDP", options_of(fsdp)), folder);
}

void launch_with(const ZeroPlan& zero, const TrainPlan& plan, const std::string& folder, Launch& launch) {
    constexpr const char* kFile = "deepspeed.json";
    launch.files.push_back({kFile, to_text(deepspeed_to_json(zero))});
    launch_with_torchrun(launch, plan);
    launch.arguments.push_back(fmt::format("--deepspeed {}", path_in(folder, kFile)));
    if (zero.stage == 3)
        launch.script.emplace_back(
            "make TrainingArguments before from_pretrained(), so that each process loads only its own shards");
}

void launch_with(const TpPlan&, const TrainPlan& plan, const std::string&, Launch& launch) {
    launch_with_torchrun(launch, plan);
}

void launch_with(const PipelinePlan& pipeline, const TrainPlan& plan, const std::string&, Launch& launch) {
    launch_with_torchrun(launch, plan);
    launch.script.push_back(
        fmt::format("train without a Trainer: split the model into {} torch.distributed.pipelining stages and step a "
                    "Schedule1F1B with n_microbatches={}",
                    plan.distributed->world_size, pipeline.micro_batches));
}

/// What TrainingArguments have to say; all else is theirs by default.
std::vector<std::string> training_arguments(const TrainPlan& plan) {
    const TrainingPlan& t = plan.training;
    std::vector<std::string> out = {
        fmt::format("--per_device_train_batch_size {}", t.per_device_train_batch_size),
        fmt::format("--gradient_accumulation_steps {}", t.gradient_accumulation_steps),
        fmt::format("--optim {}", t.optim),
    };
    if (plan.loop.kind != LoopKind::unsloth)  // get_peft_model says it there
        out.insert(out.end() - 1, fmt::format("--gradient_checkpointing {}", word(plan.checkpoints())));
    if (t.bf16) out.emplace_back("--bf16 true");
    if (t.fp16) out.emplace_back("--fp16 true");
    if (t.max_grad_norm != 1) out.push_back(fmt::format("--max_grad_norm {:g}", t.max_grad_norm));
    if (t.use_liger_kernel) out.emplace_back("--use_liger_kernel true");
    if (t.torch_empty_cache_steps)
        out.push_back(fmt::format("--torch_empty_cache_steps {}", *t.torch_empty_cache_steps));
    return out;
}

std::string quantization_text(const QuantizationPlan& q) {
    if (q.method == QuantMethod::int8) return "quantization_config=BitsAndBytesConfig(load_in_8bit=True)";
    std::string out = fmt::format(
        "quantization_config=BitsAndBytesConfig(load_in_4bit=True, bnb_4bit_quant_type=\"{}\"", name_of(q.method));
    if (q.double_quant) out += ", bnb_4bit_use_double_quant=True";
    if (q.compute_dtype) out += fmt::format(", bnb_4bit_compute_dtype=torch.{}", name_of(*q.compute_dtype));
    if (q.storage != DType::uint8) out += fmt::format(", bnb_4bit_quant_storage=torch.{}", name_of(q.storage));
    return out + ")";
}

// unsloth 2026.10.7, models/loader.py and models/llama.py: what is not said here they choose as it is predicted.
void describe_unsloth_script(const TrainPlan& plan, Launch& launch) {
    launch.script.push_back(fmt::format(
        "load the model with FastLanguageModel.from_pretrained(..., max_seq_length={}, load_in_4bit={})",
        plan.unsloth.max_seq_length.value_or(plan.batch.sequence_length), plan.load.quantization ? "True" : "False"));
    if (!plan.peft) return;
    launch.script.push_back(fmt::format(
        "give it adapters with FastLanguageModel.get_peft_model(model, r={}, use_gradient_checkpointing={})",
        plan.peft->r, plan.unsloth.checkpointing == UnslothCheckpointing::plain ? "True" : "\"unsloth\""));
}

/// What no file and no argument says.
void describe_script(const TrainPlan& plan, Launch& launch) {
    std::string load = fmt::format("load the model with from_pretrained(..., dtype=torch.{}", name_of(plan.load.dtype));
    if (plan.distributed && plan.distributed->as<TpPlan>()) load += ", tp_plan=\"auto\"";
    if (plan.load.quantization) load += fmt::format(", {}", quantization_text(*plan.load.quantization));
    launch.script.insert(launch.script.begin(), fmt::format("{})", load));
    if (plan.prepare_kbit)
        launch.script.push_back(
            fmt::format("call prepare_model_for_kbit_training(model, use_gradient_checkpointing={})",
                        plan.prepare_kbit->use_gradient_checkpointing ? "True" : "False"));
}

}  // namespace

Launch launch_of(const TrainPlan& plan, const std::string& folder) {
    Launch launch;
    const bool pipeline = plan.distributed && plan.distributed->as<PipelinePlan>();
    if (!pipeline) launch.arguments = training_arguments(plan);
    if (plan.distributed)
        std::visit([&](const auto& method) { launch_with(method, plan, folder, launch); }, plan.distributed->method);
    else
        launch.words = {"CUDA_VISIBLE_DEVICES=0", "python", kScript};
    if (plan.loop.kind == LoopKind::unsloth)
        describe_unsloth_script(plan, launch);
    else
        describe_script(plan, launch);
    return launch;
}

}  // namespace vramfit
