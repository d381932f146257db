// Writing job files that read back as the same job.
#include <fmt/format.h>

#include "spec/adapters/read.hpp"
#include "spec/config_read.hpp"
#include "spec/job_deepspeed.hpp"
#include "spec/job_read.hpp"
#include "spec/json_value.hpp"
#include "spec/network/document.hpp"
#include "vramfit/base/error.hpp"
#include "vramfit/spec/config.hpp"
#include "vramfit/spec/devices.hpp"
#include "vramfit/spec/job.hpp"
#include "vramfit/spec/models.hpp"
#include "vramfit/spec/plan_names.hpp"
#include "vramfit/spec/stacks.hpp"

namespace vramfit {

namespace {

JsonValue targets(const TargetModules& modules) {
    if (const auto* text = std::get_if<std::string>(&modules)) return JsonValue::of(std::string_view(*text));
    return JsonValue::texts(std::get<std::vector<std::string>>(modules));
}

JsonValue kwargs(const std::optional<bool>& reentrant) {
    if (!reentrant) return {};
    return JsonValue::object().put("use_reentrant", JsonValue::of(*reentrant));
}

template <class T>
JsonValue or_null(const std::optional<T>& value) {
    if constexpr (std::is_same_v<T, Bytes>)
        return value ? JsonValue::of(value->count) : JsonValue{};
    else if constexpr (std::is_enum_v<T>)
        return value ? JsonValue::of(name_of(*value)) : JsonValue{};
    else
        return value ? JsonValue::of(*value) : JsonValue{};
}

}  // namespace

JsonValue quantization_to_json(const QuantizationPlan& plan) {
    JsonValue out = JsonValue::object();
    const bool eight = plan.method == QuantMethod::int8;
    out.put(eight ? "load_in_8bit" : "load_in_4bit", JsonValue::of(true));
    if (!eight) out.put("bnb_4bit_quant_type", JsonValue::of(name_of(plan.method)));
    out.put("bnb_4bit_use_double_quant", JsonValue::of(plan.double_quant));
    if (plan.compute_dtype) out.put("bnb_4bit_compute_dtype", or_null(plan.compute_dtype));
    if (!eight || plan.storage != DType::uint8) out.put("bnb_4bit_quant_storage", JsonValue::of(name_of(plan.storage)));
    if (plan.skip_modules_given) out.put("llm_int8_skip_modules", JsonValue::texts(plan.skip_modules));
    out.put("llm_int8_threshold", JsonValue::of(plan.int8_threshold));
    return out;
}

namespace {

JsonValue load(const LoadPlan& plan) {
    JsonValue out = JsonValue::object();
    out.put("dtype", JsonValue::of(name_of(plan.dtype)));
    out.put("attn_implementation", JsonValue::of(name_of(plan.attention)));
    out.put("sdpa_kernel", or_null(plan.sdpa_kernel));
    out.put("sdpa_expand_kv", plan.sdpa_expand_kv ? JsonValue::of("repeat_interleave") : JsonValue{});
    out.put("device_map", plan.on_device ? JsonValue::object().put("", JsonValue::of(std::int64_t{0})) : JsonValue{});
    if (plan.moved_by_trainer) out.put("moved_by", JsonValue::of("trainer"));
    out.put("quantization_config", plan.quantization ? quantization_to_json(*plan.quantization) : JsonValue{});
    out.put("shard_size", or_null(plan.shard_size));
    out.put("resize_token_embeddings", or_null(plan.resize_token_embeddings));
    if (plan.num_labels > 0) out.put("num_labels", JsonValue::of(plan.num_labels));
    if (plan.labels_tokens) out.put("task_type", JsonValue::of("TOKEN_CLS"));
    out.put("gradient_checkpointing", JsonValue::of(plan.gradient_checkpointing));
    if (plan.text_part) out.put("text_part", JsonValue::of(*plan.text_part));
    if (plan.upcast) out.put("upcast", or_null(plan.upcast));
    if (plan.upcast_stays) out.put("upcast_stays", JsonValue::of(true));
    out.put("cast_after_adapter", or_null(plan.cast_after_adapter));
    return out;
}

JsonValue prepare(const PreparePlan& plan) {
    JsonValue out = JsonValue::object();
    out.put("use_gradient_checkpointing", JsonValue::of(plan.use_gradient_checkpointing));
    out.put("gradient_checkpointing_kwargs", kwargs(plan.use_reentrant));
    out.put("auto_clear_cache", JsonValue::of(plan.auto_clear_cache));
    return out;
}

void put_patterns(const LoraPlan& plan, JsonValue& out) {
    JsonValue ranks = JsonValue::object();
    for (const auto& [key, r] : plan.rank_pattern) ranks.put(key, JsonValue::of(r));
    JsonValue alphas = JsonValue::object();
    for (const auto& [key, alpha] : plan.alpha_pattern) alphas.put(key, JsonValue::of(alpha));
    if (!plan.rank_pattern.empty()) out.put("rank_pattern", std::move(ranks));
    if (!plan.alpha_pattern.empty()) out.put("alpha_pattern", std::move(alphas));
}

void put_token_indices(const AdapterOptions& options, JsonValue& out) {
    if (options.token_indices.empty()) return;
    JsonValue tokens = JsonValue::integers(options.token_indices);
    if (!options.tokens_of.empty()) {
        JsonValue by_module = JsonValue::object();
        by_module.put(options.tokens_of, std::move(tokens));
        tokens = std::move(by_module);
    }
    out.put("trainable_token_indices", std::move(tokens));
}

JsonValue block_diagonal(const BlockDiagonal& blocks) {
    JsonValue out = JsonValue::object();
    out.put("target_modules_bd_a", JsonValue::texts(blocks.of_a));
    out.put("target_modules_bd_b", JsonValue::texts(blocks.of_b));
    out.put("nblocks", JsonValue::of(blocks.blocks));
    out.put("match_strict", JsonValue::of(blocks.strict));
    return out;
}

JsonValue lora(const LoraPlan& plan) {
    if (plan.kind != AdapterKind::lora) return other_kind_to_json(plan);
    JsonValue out = JsonValue::object();
    out.put("r", JsonValue::of(plan.r));
    out.put("lora_alpha", JsonValue::of(plan.lora_alpha));
    out.put("lora_dropout", JsonValue::of(plan.lora_dropout));
    out.put("target_modules", targets(plan.target_modules));
    if (!plan.target_parameters.empty()) out.put("target_parameters", JsonValue::texts(plan.target_parameters));
    out.put("use_rslora", JsonValue::of(plan.use_rslora));
    out.put("use_dora", JsonValue::of(plan.use_dora));
    out.put("bias", JsonValue::of(name_of(plan.bias)));
    if (!plan.modules_to_save.empty()) out.put("modules_to_save", JsonValue::texts(plan.modules_to_save));
    if (plan.exclude_modules) out.put("exclude_modules", targets(*plan.exclude_modules));
    if (plan.layers_to_transform) out.put("layers_to_transform", JsonValue::integers(*plan.layers_to_transform));
    if (!plan.layers_pattern.empty()) out.put("layers_pattern", JsonValue::texts(plan.layers_pattern));
    put_patterns(plan, out);
    put_token_indices(plan.options, out);
    if (plan.block_diagonal) out.put("use_bdlora", block_diagonal(*plan.block_diagonal));
    if (plan.kasa) out.put("kasa_config", JsonValue::object());
    out.put("fan_in_fan_out", JsonValue::of(plan.fan_in_fan_out));
    out.put("lora_bias", JsonValue::of(plan.lora_bias));
    const std::string& init = plan.init_lora_weights;
    out.put("init_lora_weights",
            init == "true" || init == "false" ? JsonValue::of(init == "true") : JsonValue::of(std::string_view(init)));
    return out;
}

/// What stands in `training`.
void put_evaluation(const EvaluationPlan& plan, JsonValue& training) {
    if (plan.every > 0) {
        training.put("eval_strategy", JsonValue::of(std::string_view("steps")));
        training.put("eval_steps", JsonValue::of(plan.every));
    }
    if (plan.on_start) training.put("eval_on_start", JsonValue::of(true));
    training.put("per_device_eval_batch_size", JsonValue::of(plan.per_device_eval_batch_size));
    if (plan.accumulation) training.put("eval_accumulation_steps", JsonValue::of(*plan.accumulation));
}

JsonValue evaluation(const EvaluationPlan& plan) {
    JsonValue out = JsonValue::object();
    out.put("batches", JsonValue::of(plan.batches));
    out.put("sequence_length", or_null(plan.sequence_length));
    if (plan.attention_mask) out.put("attention_mask", JsonValue::of(name_of(*plan.attention_mask)));
    return out;
}

JsonValue training(const TrainingPlan& plan) {
    JsonValue out = JsonValue::object();
    out.put("per_device_train_batch_size", JsonValue::of(plan.per_device_train_batch_size));
    out.put("gradient_accumulation_steps", JsonValue::of(plan.gradient_accumulation_steps));
    out.put("gradient_checkpointing", JsonValue::of(plan.gradient_checkpointing));
    out.put("gradient_checkpointing_kwargs", kwargs(plan.use_reentrant));
    out.put("bf16", JsonValue::of(plan.bf16));
    out.put("fp16", JsonValue::of(plan.fp16));
    out.put("optim", JsonValue::of(std::string_view(plan.optim)));
    if (!plan.optim_args.empty()) out.put("optim_args", JsonValue::of(std::string_view(plan.optim_args)));
    if (plan.weight_decay != 0) out.put("weight_decay", JsonValue::of(plan.weight_decay));
    out.put("max_grad_norm", JsonValue::of(plan.max_grad_norm));
    out.put("use_liger_kernel", JsonValue::of(plan.use_liger_kernel));
    if (plan.cut_cross_entropy) out.put("cut_cross_entropy", JsonValue::of(true));
    if (plan.optimizer_in_backward) out.put("optimizer_in_backward", JsonValue::of(true));
    out.put("use_cache", JsonValue::of(plan.use_cache));
    if (plan.torch_empty_cache_steps) out.put("torch_empty_cache_steps", JsonValue::of(*plan.torch_empty_cache_steps));
    if (plan.max_length) out.put("max_length", JsonValue::of(*plan.max_length));
    if (plan.router_aux_loss_coef) out.put("router_aux_loss_coef", JsonValue::of(*plan.router_aux_loss_coef));
    return out;
}

JsonValue batch(const BatchPlan& plan) {
    JsonValue out = JsonValue::object();
    out.put("sequence_length", JsonValue::of(plan.sequence_length));
    out.put("attention_mask", JsonValue::of(name_of(plan.attention_mask)));
    out.put("labels", JsonValue::of(name_of(plan.labels)));
    return out;
}

JsonValue peak_window(const PeakWindow& window) {
    if (window.kind == PeakWindow::Kind::steps)
        return JsonValue::object().put("steps", JsonValue::integers(window.steps));
    return JsonValue::of(window.kind == PeakWindow::Kind::train ? "train" : "process");
}

JsonValue loop(const LoopPlan& plan) {
    JsonValue out = JsonValue::object();
    out.put("kind", JsonValue::of(name_of(plan.kind)));
    out.put("steps", JsonValue::of(plan.steps));
    out.put("loss", JsonValue::of(name_of(plan.loss)));
    out.put("grad", JsonValue::of(plan.grad));
    out.put("output", JsonValue::of(name_of(plan.output)));
    out.put("zero_grad", JsonValue::of(name_of(plan.zero_grad)));
    out.put("batch", JsonValue::of(name_of(plan.batch)));
    out.put("input_require_grads", JsonValue::of(plan.input_require_grads));
    std::vector<JsonValue> before;
    for (const WarmForward& forward : plan.before) {
        JsonValue one = JsonValue::object();
        one.put("grad", JsonValue::of(forward.grad));
        before.push_back(one.put("sequence_length", JsonValue::of(forward.sequence_length)));
    }
    out.put("before", JsonValue::list(std::move(before)));
    out.put("peak_window", peak_window(plan.peak_window));
    out.put("phase_step", or_null(plan.phase_step));
    return out;
}

void put_method(const DdpPlan& plan, JsonValue& out) {
    JsonValue ddp = JsonValue::object();
    if (plan.find_unused_parameters) ddp.put("ddp_find_unused_parameters", or_null(plan.find_unused_parameters));
    if (plan.bucket_cap_mb) ddp.put("ddp_bucket_cap_mb", or_null(plan.bucket_cap_mb));
    if (plan.broadcast_buffers) ddp.put("ddp_broadcast_buffers", or_null(plan.broadcast_buffers));
    if (plan.static_graph) ddp.put("ddp_static_graph", JsonValue::of(plan.static_graph));
    out.put("ddp", std::move(ddp));
}

void put_method(const ZeroPlan& plan, JsonValue& out) { out.put("deepspeed", deepspeed_to_json(plan)); }

template <class Plan>
void put_wrapping(const Plan& plan, JsonValue& config) {
    if (!plan.layer_classes.empty()) config.put("transformer_layer_cls_to_wrap", JsonValue::texts(plan.layer_classes));
    if (plan.wrap_policy == WrapPolicy::none) config.put("auto_wrap_policy", JsonValue::of("NO_WRAP"));
    if (plan.wrap_policy != WrapPolicy::size_based) return;
    config.put("auto_wrap_policy", JsonValue::of("SIZE_BASED_WRAP"));
    config.put("min_num_params", JsonValue::of(plan.min_num_params));
}

void put_method(const Fsdp1Plan& plan, JsonValue& out) {
    JsonValue config = JsonValue::object();
    if (plan.sharding_strategy != FsdpStrategy::full_shard)
        config.put("sharding_strategy", JsonValue::of(name_of(plan.sharding_strategy)));
    config.put("backward_prefetch", JsonValue::of(name_of(plan.backward_prefetch)));
    if (plan.forward_prefetch) config.put("forward_prefetch", JsonValue::of(true));
    if (!plan.limit_all_gathers) config.put("limit_all_gathers", JsonValue::of(false));
    if (plan.cpu_offload) config.put("cpu_offload", JsonValue::of(true));
    if (!plan.use_orig_params) config.put("use_orig_params", JsonValue::of(false));
    put_wrapping(plan, config);
    config.put("sync_module_states", JsonValue::of(plan.sync_module_states));
    if (plan.cpu_ram_efficient_loading) config.put("cpu_ram_efficient_loading", JsonValue::of(true));
    config.put("activation_checkpointing", JsonValue::of(plan.activation_checkpointing));
    out.put("fsdp_config", std::move(config));
}

void put_method(const Fsdp2Plan& plan, JsonValue& out) {
    JsonValue config = JsonValue::object();
    config.put("reshard_after_forward", JsonValue::of(plan.reshard_after_forward));
    config.put("activation_checkpointing", JsonValue::of(plan.activation_checkpointing));
    config.put("cpu_ram_efficient_loading", JsonValue::of(plan.cpu_ram_efficient_loading));
    if (plan.cpu_offload) config.put("cpu_offload", JsonValue::of(true));
    put_wrapping(plan, config);
    out.put("fsdp_config", std::move(config));
    if (plan.prepared_by != FsdpPreparation::accelerate)
        out.put("prepared_by", JsonValue::of(name_in<FsdpPreparation>(kFsdpPreparationNames, plan.prepared_by)));
    if (plan.replicas > 1) out.put("dp_replicate_size", JsonValue::of(plan.replicas));
    if (plan.context.size == 1) return;
    out.put("cp_size", JsonValue::of(plan.context.size));
    out.put("cp_comm_strategy", JsonValue::of(name_in<bool>(kContextStrategyNames, plan.context.gathers)));
}

void put_method(const TpPlan&, JsonValue& out) {
    out.put("tp", JsonValue::object().put("tp_plan", JsonValue::of("auto")));
}

void put_method(const PipelinePlan& plan, JsonValue& out) {
    JsonValue pipeline = JsonValue::object();
    pipeline.put("schedule", JsonValue::of(name_of(plan.schedule)));
    pipeline.put("micro_batches", JsonValue::of(plan.micro_batches));
    pipeline.put("virtual_stages", JsonValue::of(plan.virtual_stages));
    pipeline.put("return_outputs", JsonValue::of(plan.return_outputs));
    out.put("pipeline", std::move(pipeline));
}

JsonValue distributed(const DistributedPlan& plan) {
    JsonValue out = JsonValue::object();
    out.put("kind", JsonValue::of(name_of(plan.method).kind));
    out.put("world_size", JsonValue::of(plan.world_size));
    if (plan.local_world_size > 0) out.put("local_world_size", JsonValue::of(plan.local_world_size));
    if (!plan.any_rank && !plan.loads_as_last()) out.put("rank", JsonValue::of(plan.rank));
    if (plan.load_on_device) out.put("load_on_device", JsonValue::of(true));
    if (plan.load_first) out.put("load_first", JsonValue::of(true));
    std::visit([&out](const auto& method) { put_method(method, out); }, plan.method);
    return out;
}

void put_plan(const TrainPlan& plan, JsonValue& out) {
    out.put("load", load(plan.load));
    out.put("prepare_kbit", plan.prepare_kbit ? prepare(*plan.prepare_kbit) : JsonValue{});
    out.put("peft", plan.peft ? lora(*plan.peft) : JsonValue{});
    JsonValue trl = JsonValue::object();
    trl.put("peft_module_casting_to_bf16", JsonValue::of(plan.trl_casting_to_bf16));
    if (!plan.trl_makes_adapters) trl.put("peft_config", JsonValue::of(false));
    if (plan.sft_makes_adapters && is_zero3(plan))  // nothing else differs by it
        trl.put("peft_config", JsonValue::of(true));
    if (plan.preference.maker != TrainerMaker::trl)
        trl.put("trainer", JsonValue::of(name_in<TrainerMaker>(kTrainerMakerNames, plan.preference.maker)));
    if (plan.preference.reference_source != ReferenceSource::trainer)
        trl.put("ref_model",
                JsonValue::of(name_in<ReferenceSource>(kReferenceSourceNames, plan.preference.reference_source)));
    out.put("trl", std::move(trl));
    JsonValue arguments = training(plan.training);
    if (plan.evaluation) put_evaluation(*plan.evaluation, arguments);
    if (is_preference(plan.loop.kind)) put_preference(plan, arguments);
    if (plan.unsloth.packing) arguments.put("packing", JsonValue::of(true));
    if (!plan.unsloth.padding_free) arguments.put("padding_free", JsonValue::of(false));
    out.put("training", std::move(arguments));
    if (plan.loop.kind == LoopKind::unsloth) out.put("unsloth", unsloth_to_json(plan));
    JsonValue rows = is_preference(plan.loop.kind) ? pairs_to_json(plan) : batch(plan.batch);
    if (!plan.batch.lengths.empty()) rows.put("lengths", JsonValue::integers(row_lengths(plan)));
    out.put("batch", std::move(rows));
    JsonValue loop_of_plan = loop(plan.loop);
    put_seconds(plan, loop_of_plan);
    out.put("loop", std::move(loop_of_plan));
    if (plan.evaluation) out.put("evaluation", evaluation(*plan.evaluation));
    if (plan.distributed) out.put("distributed", distributed(*plan.distributed));
}

}  // namespace

JsonValue model_to_value(const ModelSpec& spec) {
    const BuiltInModel* known = find_built_in(spec.name);
    const auto is_same = [&spec](const ModelSpec& other) {  // recordings of a type are made anew for each
        return other == spec || (spec.recording && other.recording && spec.recording->of_type &&
                                 to_text(model_to_json(other)) == to_text(model_to_json(spec)));
    };
    if (known && known->name == spec.name && is_same(spec_of(*known)))
        return JsonValue::of(std::string_view(spec.name));
    if (spec.recording && !spec.recording->of_type) return JsonValue::of(std::string_view(spec.recording->file));
    JsonValue out = model_to_json(spec);
    if (!spec.name.empty()) out.put("_name_or_path", JsonValue::of(std::string_view(spec.name)));
    return out;
}

namespace {

// By name where that gives the same versions, else each of them.
JsonValue stack(const Stack& versions) {
    try {
        if (stack_from(versions.name).stack == versions) return JsonValue::of(std::string_view(versions.name));
    } catch (const Error&) {  // a name of the caller's own
    }
    JsonValue out = JsonValue::object();
    for (const std::string_view library : stack_libraries()) {
        const Version& version = version_of(versions, library);
        if (version != Version{}) out.put(library, JsonValue::of(std::string_view(text_of(version))));
    }
    return out;
}

JsonValue environment(const Device& device, const LoadPlan& load) {
    JsonValue out = JsonValue::object();
    if (!device.alloc_conf.empty())
        out.put("PYTORCH_CUDA_ALLOC_CONF", JsonValue::of(std::string_view(device.alloc_conf)));
    if (device.cublas_workspace_config)
        out.put("CUBLAS_WORKSPACE_CONFIG", JsonValue::of(std::string_view(*device.cublas_workspace_config)));
    if (device.cublaslt_workspace_size)
        out.put("CUBLASLT_WORKSPACE_SIZE", JsonValue::of(std::string_view(*device.cublaslt_workspace_size)));
    if (load.without_threads) out.put("HF_DEACTIVATE_ASYNC_LOAD", JsonValue::of(std::string_view("1")));
    return out;
}

}  // namespace

std::string to_json_text(const TrainPlan& plan) {
    JsonValue out = JsonValue::object();
    if (!plan.name.empty()) out.put("name", JsonValue::of(std::string_view(plan.name)));
    put_plan(plan, out);
    return to_text(out);
}

std::string to_json_text(const Job& job) {
    JsonValue out = JsonValue::object();
    out.put("schema", JsonValue::of(kJobSchema));
    if (!job.plan.name.empty()) out.put("name", JsonValue::of(std::string_view(job.plan.name)));
    out.put("stack", stack(job.stack));
    out.put("model", model_to_value(job.model));
    put_plan(job.plan, out);
    if (job.device.capacity_known) out.put("card", JsonValue::of(std::string_view(card_text(job.device))));
    const JsonValue variables = environment(job.device, job.plan.load);
    if (!variables.keys.empty()) out.put("environment", variables);
    return to_text(out);
}

}  // namespace vramfit
