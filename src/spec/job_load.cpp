// Job files: how the model is loaded and prepared, the keys `load` and `prepare_kbit`.
#include <fmt/format.h>

#include "spec/job_read.hpp"
#include "vramfit/spec/plan_names.hpp"

namespace vramfit {

namespace {

// {"": 0} is the one card, null host memory.
void read_device_map(ObjectReader& load, LoadPlan& plan) {
    const JsonValue* map = load.value("device_map");
    if (!map) return;
    if (map->kind == JsonValue::Kind::null) {
        plan.on_device = false;
        return;
    }
    const JsonValue* whole = map->kind == JsonValue::Kind::object && map->keys.size() == 1 ? map->find("") : nullptr;
    if (whole && whole->kind == JsonValue::Kind::integer && whole->integer == 0) return;
    const std::string hint = "write {\"\": 0} for the one GPU, or null for host memory";
    if (map->kind == JsonValue::Kind::object || map->kind == JsonValue::Kind::text)
        load.problems().unsupported(load.path("device_map"), "other device maps are not supported", hint);
    else
        load.problems().invalid(load.path("device_map"), fmt::format("a device map is wanted, not {}", map->shown()),
                                hint);
}

void refuse_if(ObjectReader& config, std::string_view key, std::string_view what) {
    const auto value = config.boolean(key, Null::absent);
    if (value && *value)
        config.problems().unsupported(config.path(key), fmt::format("{} is not supported", what), "leave the key out");
}

}  // namespace

std::optional<bool> read_checkpointing_kwargs(ObjectReader& reader) {
    auto arguments = reader.object("gradient_checkpointing_kwargs", Null::absent);
    if (!arguments) return std::nullopt;
    const auto reentrant = arguments->boolean("use_reentrant", Null::absent);
    for (const std::string_view key : {"preserve_rng_state", "determinism_check", "debug", "context_fn"}) {
        if (arguments->value(key))
            arguments->problems().unsupported(
                arguments->path(key), "of these arguments only use_reentrant is supported", "leave the key out");
    }
    arguments->refuse_unknown();
    return reentrant;
}

// transformers 5.17.0, utils/quantization_config.py, BitsAndBytesConfig.__init__.
QuantizationPlan read_quantization(ObjectReader config) {
    QuantizationPlan plan;
    Problems& problems = config.problems();
    const auto quant_method = config.text("quant_method", Null::absent);
    if (quant_method && *quant_method != "bitsandbytes") {
        problems.unsupported(config.path("quant_method"),
                             fmt::format("the quantizer '{}' is not supported", *quant_method),
                             "supported: bitsandbytes");
    }
    const bool four = config.boolean("load_in_4bit").value_or(false);
    const bool eight = config.boolean("load_in_8bit").value_or(false);
    if (four && eight)
        problems.invalid(config.path("load_in_4bit"), "load_in_4bit and load_in_8bit exclude each other", "choose one");
    if (!four && !eight && (!quant_method || *quant_method == "bitsandbytes")) {
        problems.invalid(config.path("load_in_4bit"), "neither load_in_4bit nor load_in_8bit is true",
                         "choose one, or write \"quantization_config\": null");
    }
    static constexpr Named<QuantMethod> types[] = {{"nf4", QuantMethod::nf4}, {"fp4", QuantMethod::fp4}};
    const auto type = config.choice<QuantMethod>("bnb_4bit_quant_type", types);
    plan.method = eight ? QuantMethod::int8 : type.value_or(QuantMethod::fp4);
    ObjectReader::set(plan.double_quant, config.boolean("bnb_4bit_use_double_quant"));
    plan.compute_dtype = config.choice<DType>("bnb_4bit_compute_dtype", kLoadDTypes, Null::absent);
    ObjectReader::set(plan.storage, config.choice<DType>("bnb_4bit_quant_storage", kQuantStorages, Null::absent));
    if (auto modules = config.texts("llm_int8_skip_modules", Null::absent)) {
        plan.skip_modules = std::move(*modules);
        plan.skip_modules_given = true;
    }
    ObjectReader::set(plan.int8_threshold, config.real("llm_int8_threshold"));
    refuse_if(config, "llm_int8_enable_fp32_cpu_offload", "keeping modules in host memory");
    refuse_if(config, "llm_int8_has_fp16_weight", "int8 with 16-bit main weights");
    config.refuse_unknown();
    return plan;
}

// peft 0.21.2, utils/other.py, prepare_model_for_kbit_training.
PreparePlan read_prepare(ObjectReader arguments) {
    PreparePlan plan;
    ObjectReader::set(plan.use_gradient_checkpointing, arguments.boolean("use_gradient_checkpointing"));
    plan.use_reentrant = read_checkpointing_kwargs(arguments);
    ObjectReader::set(plan.auto_clear_cache, arguments.boolean("auto_clear_cache"));
    arguments.refuse_unknown();
    return plan;
}

void read_load(ObjectReader& load, LoadPlan& plan) {
    static constexpr Named<bool> expansions[] = {{"repeat_interleave", true}};
    ObjectReader::set(plan.dtype, load.choice<DType>("dtype", kLoadDTypes));
    ObjectReader::set(plan.attention, load.choice<AttentionImplementation>("attn_implementation", kAttentionNames));
    plan.sdpa_kernel = load.choice<SdpaKernel>("sdpa_kernel", kSdpaKernelNames, Null::absent);
    ObjectReader::set(plan.sdpa_expand_kv, load.choice<bool>("sdpa_expand_kv", expansions, Null::absent));
    read_device_map(load, plan);
    static constexpr Named<bool> movers[] = {{"script", false}, {"trainer", true}};
    ObjectReader::set(plan.moved_by_trainer, load.choice<bool>("moved_by", movers));
    if (auto config = load.object("quantization_config", Null::absent))
        plan.quantization = read_quantization(std::move(*config));
    if (const auto bytes = load.integer("shard_size", {.low = 1}, Null::absent)) plan.shard_size = Bytes{*bytes};
    plan.resize_token_embeddings =
        load.integer("resize_token_embeddings", {.low = 1, .high = std::int64_t{1} << 31}, Null::absent);
    if (const auto labels = load.integer("num_labels", {.low = 1, .high = std::int64_t{1} << 31}, Null::absent))
        plan.num_labels = *labels;
    ObjectReader::set(plan.labels_tokens, load.choice<bool>("task_type", kTaskNames, Null::absent));
    if (plan.labels_tokens && plan.num_labels == 0)
        load.problems().invalid(load.path("task_type"), "how many labels there are is missing", "num_labels beside it");
    ObjectReader::set(plan.gradient_checkpointing, load.boolean("gradient_checkpointing"));
    plan.text_part = load.boolean("text_part");
    plan.upcast = load.choice<UpcastParts>("upcast", kUpcastNames, Null::absent);
    ObjectReader::set(plan.upcast_stays, load.boolean("upcast_stays"));
    plan.cast_after_adapter = load.choice<DType>("cast_after_adapter", kLoadDTypes, Null::absent);
    load.refuse_unknown();
}

}  // namespace vramfit
