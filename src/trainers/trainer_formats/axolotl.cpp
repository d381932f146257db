// axolotl: YAML of `axolotl train`.
#include <algorithm>

#include <fmt/format.h>

#include "spec/whole_model.hpp"
#include "trainers/axolotl_casts.hpp"
#include "trainers/axolotl_preferences.hpp"
#include "trainers/common.hpp"
#include "trainers/fsdp.hpp"
#include "trainers/keys/axolotl.hpp"
#include "trainers/keys/axolotl_harmless.hpp"
#include "trainers/keys/fsdp.hpp"
#include "trainers/parallelism.hpp"
#include "trainers/trainer_format.hpp"
#include "trainers/zero.hpp"
#include "vramfit/spec/modules.hpp"
#include "vramfit/spec/plan_names.hpp"

namespace vramfit::trainers {

namespace {

constexpr auto kAxolotlHarmlessRows = harmless_rows(kAxolotlHarmless);
constexpr std::span<const KeyRow> kAxolotlTables[] = {kAxolotlKeys, kAxolotlFsdpRows, kAxolotlHarmlessRows};

bool is_axolotl(const Document& document) {
    if (document.root.kind != Value::Kind::map || document.syntax == Syntax::shell) return false;
    const Value& root = document.root;
    return root.find("base_model") && (root.find("datasets") || root.find("pretraining_dataset") ||
                                       root.find("sequence_len") || root.find("micro_batch_size"));
}

// src/axolotl/utils/config/__init__.py, normalize_config: "auto" is bf16 where the card has it.
void read_axolotl_precision(Reader& reader, Draft& draft) {
    TrainPlan& plan = draft.job.plan;
    const Value* given = reader.value("bf16");
    const std::string bf16 = given ? reader.text("bf16").value_or("") : "auto";
    if (!given) reader.assume("bf16", "auto");
    const bool automatic = bf16 == "auto" || bf16.empty();
    const bool full = bf16 == "full";
    bool on = full;
    if (automatic || full) {
        on = reader.question().bf16_card || full;
        if (automatic) reader.derive("training.bf16", on ? "true" : "false", "bf16: auto, by the GPU");
    } else {
        on = reader.boolean("bf16").value_or(false);
    }
    const bool fp16 = reader.boolean("fp16").value_or(false) || (automatic && !on);
    const bool as_float16 =
        fp16 || reader.boolean("float16").value_or(false) || reader.boolean("load_in_8bit").value_or(false);
    plan.training.bf16 = on && !full;
    plan.training.fp16 = fp16 && !on;
    if (on || reader.boolean("bfloat16").value_or(false))
        plan.load.dtype = DType::bfloat16;
    else
        plan.load.dtype = as_float16 ? DType::float16 : DType::float32;
    reader.derive("load.dtype", std::string(name_of(plan.load.dtype)), "bf16, fp16, bfloat16, float16, load_in_8bit");
}

// src/axolotl/loaders/model.py: the first true one of the old switches.
void read_axolotl_attention(Reader& reader, Draft& draft) {
    AttentionImplementation& attention = draft.job.plan.load.attention;
    if (reader.has("attn_implementation")) return read_attention(reader, "attn_implementation", draft);
    if (reader.boolean("flash_attention").value_or(false))
        attention = AttentionImplementation::flash_attention_2;
    else if (reader.boolean("sdp_attention").value_or(false))
        attention = AttentionImplementation::sdpa;
    else if (reader.boolean("eager_attention").value_or(false))
        attention = AttentionImplementation::eager;
    else
        reader.assume("attn_implementation", "sdpa");
}

// src/axolotl/loaders/adapter.py, load_lora: names that are given and the last ones of all linear layers together.
void read_axolotl_targets(Reader& reader, Draft& draft) {
    std::vector<std::string> names;
    const bool pattern = is_pattern(reader.value("lora_target_modules"));
    if (!pattern) names = reader.texts("lora_target_modules").value_or(std::vector<std::string>());
    const bool linear = reader.boolean("lora_target_linear").value_or(false);
    if (!linear)
        return set_targets(reader, "lora_target_modules", pattern ? std::vector<std::string>{"*"} : names, draft);
    const bool beyond = std::any_of(names.begin(), names.end(), [](const std::string& name) {
        return name == "lm_head" || name == "embed_tokens" || name == "embed_out";
    });
    if (beyond || pattern)
        reader.refuse("lora_target_linear", "together with these lora_target_modules it is not supported",
                      "name all modules in lora_target_modules");
    if (const std::string other = named_as_linear_layer(draft.job.model); !other.empty())
        reader.refuse("lora_target_linear", fmt::format("{} has the name of linear layers, but is none", other),
                      "name the modules in lora_target_modules");
    draft.job.plan.peft->target_modules = std::string("all-linear");
}

void read_axolotl_lora(Reader& reader, Draft& draft) {
    LoraPlan& lora = draft.job.plan.peft.emplace();
    const auto rank = reader.integer("lora_r", {.low = 1});
    if (!rank) reader.invalid("lora_r", "an adapter needs its rank", "lora_r: 16");
    lora.r = rank.value_or(8);
    lora.lora_alpha = reader.real_or("lora_alpha", 8);
    lora.lora_dropout = reader.real_or("lora_dropout", 0);
    read_axolotl_targets(reader, draft);
    lora.target_parameters = reader.texts("lora_target_parameters").value_or(std::vector<std::string>());
    lora.modules_to_save = reader.texts("lora_modules_to_save").value_or(std::vector<std::string>());
    lora.fan_in_fan_out = reader.boolean("lora_fan_in_fan_out").value_or(false);
    lora.use_dora = reader.boolean("peft_use_dora").value_or(false);
    lora.use_rslora = reader.boolean("peft_use_rslora").value_or(false);
    if (const auto layers = reader.texts("peft_layers_to_transform")) {
        auto& numbers = lora.layers_to_transform.emplace();
        for (const std::string& layer : *layers) {
            const Value number = plain_scalar(layer, reader.place("peft_layers_to_transform"));
            if (number.kind != Value::Kind::integer)
                reader.invalid("peft_layers_to_transform", fmt::format("'{}' is no layer", layer), "[0, 1]");
            numbers.push_back(number.integer);
        }
    }
}

// axolotl 0.9.2 on: fused LoRA functions where none of the switches is set.
void note_axolotl_kernels(Reader& reader, const Draft& draft, bool eight) {
    bool any_set = false;
    const char* on_by = nullptr;
    for (const char* key : {"lora_mlp_kernel", "lora_qkv_kernel", "lora_o_kernel"}) {
        const auto on = reader.boolean(key);
        any_set = any_set || on.has_value();
        if (on.value_or(false) && !on_by) on_by = key;
    }
    const bool fsdp1 = draft.processes->as<Fsdp1Plan>() != nullptr;
    if (fsdp1 && on_by)  // utils/schemas/config.py check_multigpu_lora_kernels
        reader.invalid(on_by,
                       "axolotl stops: lora_mlp_kernel, lora_qkv_kernel, and lora_o_kernel are not compatible with "
                       "FSDP1",
                       "false, or fsdp_version: 2");
    const bool by_default = !any_set && !eight && !fsdp1 && !reader.boolean("trust_remote_code").value_or(false) &&
                            draft.job.plan.peft->lora_dropout == 0;
    if (on_by || by_default)
        reader.note(RemarkKind::kernel_not_modelled,
                    fmt::format("axolotl's fused LoRA functions ({}) are predicted as peft's own, which keep more",
                                on_by ? "lora_mlp_kernel, lora_qkv_kernel, lora_o_kernel" : "on unless switched off"),
                    "for an exact answer: lora_mlp_kernel: false, lora_qkv_kernel: false, lora_o_kernel: false");
}

void read_axolotl_method(Reader& reader, Draft& draft) {
    TrainPlan& plan = draft.job.plan;
    const std::string adapter = reader.text_or("adapter", "");
    const bool four = reader.boolean("load_in_4bit").value_or(false);
    const bool eight = reader.boolean("load_in_8bit").value_or(false);
    if (adapter.empty()) {
        if (four || eight)
            reader.refuse(four ? "load_in_4bit" : "load_in_8bit", "without an adapter axolotl refuses a quantized base",
                          "adapter: qlora, or take the key out");
        return;
    }
    if (adapter != "lora" && adapter != "qlora")
        return reader.refuse("adapter", fmt::format("the adapter '{}' is not supported", adapter),
                             "supported: lora, qlora");
    read_axolotl_lora(reader, draft);
    if (adapter == "qlora") {
        if (!four) return reader.refuse("adapter", "qlora needs load_in_4bit: true", "set it");
        quantize_4bit(draft, true, plan.load.dtype);
        if (const auto twice = reader.boolean("bnb_config_kwargs.bnb_4bit_use_double_quant"))
            plan.load.quantization->double_quant = *twice;
        constexpr Named<QuantMethod> kTypes[] = {{"nf4", QuantMethod::nf4}, {"fp4", QuantMethod::fp4}};
        if (const auto type = choice<QuantMethod>(reader, "bnb_config_kwargs.bnb_4bit_quant_type", kTypes))
            plan.load.quantization->method = *type;
        // loaders/model.py _set_quantization_config.
        const bool wide = draft.fsdp_key.empty() && draft.job.model.model_type == "qwen2_moe";
        plan.load.quantization->storage = wide ? DType::float32 : DType::bfloat16;
        if (const auto storage = choice<DType>(reader, "bnb_config_kwargs.bnb_4bit_quant_storage", kQuantStorages))
            plan.load.quantization->storage = *storage;
    } else if (eight) {
        quantize_8bit(draft);
    } else if (four) {
        reader.refuse("load_in_4bit",
                      "with adapter: lora nothing is quantized, and all 16-bit weights are cast to float32",
                      "adapter: qlora quantizes; without the key the base stays in 16 bit");
    }
    note_axolotl_kernels(reader, draft, eight);
}

// axolotl 0.19 core/builders/causal.py HFCausalTrainerBuilder.build: the collator pads rows to a multiple, and to that
// of sequence_len where all are padded.
void pad_axolotl_rows(Reader& reader, Draft& draft) {
    const std::int64_t multiple = reader.integer("pad_to_multiple_of", {.low = 1, .high = 1 << 20}).value_or(64);
    if (draft.padded_to_limit)
        draft.length_limit = (draft.length_limit + multiple - 1) / multiple * multiple;
    else if (!reader.has("pad_to_sequence_len"))
        draft.pad_multiple = multiple;
    // loaders/patch_manager.py _apply_sdpa_varlen_patch: on unless switched off.
    const bool sdpa = draft.job.plan.load.attention == AttentionImplementation::sdpa;
    if (draft.packed && sdpa && reader.boolean("sdpa_varlen").value_or(true))
        reader.note(
            RemarkKind::kernel_not_modelled,
            "axolotl 0.19 runs packed sequences by varlen_attn; they are predicted with the mask of earlier releases, "
            "which needs more",
            "for an exact answer: sdpa_varlen: false");
}

// src/axolotl/core/builders/causal.py: multipack fills one row, real batches are kept for attention by sdpa.
void read_axolotl_batch(Reader& reader, Draft& draft) {
    TrainingPlan& training = draft.job.plan.training;
    std::int64_t rows = reader.integer_or("micro_batch_size", 1, {.low = 1});
    const auto accumulation = reader.integer("gradient_accumulation_steps", {.low = 1, .high = 10'000});
    const auto whole = reader.integer("batch_size", {.low = 1});
    if (accumulation) {
        training.gradient_accumulation_steps = *accumulation;
    } else if (whole) {
        training.gradient_accumulation_steps = std::max<std::int64_t>(*whole / rows, 1);
        reader.derive("training.gradient_accumulation_steps", std::to_string(training.gradient_accumulation_steps),
                      "batch_size / micro_batch_size");
    } else {
        reader.assume("gradient_accumulation_steps", "1");
    }
    draft.length_limit = reader.integer_or("sequence_len", 512, {.low = 1});
    draft.length_key = "sequence_len";
    draft.length_place = reader.place("sequence_len");
    draft.packed = reader.boolean_or("sample_packing", false);
    draft.padded_to_limit = reader.boolean("pad_to_sequence_len").value_or(draft.packed);
    const bool flash = draft.job.plan.load.attention == AttentionImplementation::flash_attention_2;
    const bool real_rows = reader.boolean("multipack_real_batches").value_or(!flash);
    const std::int64_t train_rows = rows;
    if (draft.packed && !real_rows) {
        draft.packed_rows = rows;
        draft.one_row = true;
        rows = 1;
        if (train_rows > 1)
            reader.derive("training.per_device_train_batch_size", "1",
                          "sample_packing: the micro batch is one sequence");
    }
    draft.packing_needs_mask = !flash;
    pad_axolotl_rows(reader, draft);
    training.per_device_train_batch_size = rows;
    const bool has_rows = reader.real("val_set_size").value_or(0) > 0 || reader.has("test_datasets");
    const bool asked = reader.real("eval_steps").value_or(0) > 0 || reader.real("evals_per_epoch").value_or(0) > 0 ||
                       reader.text("eval_strategy").value_or("no") != "no" ||
                       reader.text("evaluation_strategy").value_or("no") != "no";
    ask_for_evaluation(reader, has_rows && asked, "eval_batch_size",
                       reader.integer("eval_batch_size", {.low = 1}).value_or(train_rows), train_rows, draft);
    if (draft.evaluation) draft.evaluation->packed = reader.boolean("eval_sample_packing").value_or(true);
    const std::int64_t longest = reader.integer("eval_sequence_len", {.low = 1}).value_or(0);
    if (has_rows && asked && longest > draft.length_limit)
        reader.refuse("eval_sequence_len", "evaluation of longer rows than those of training is not predicted",
                      fmt::format("at most {}, as sequence_len", draft.length_limit));
}

// integrations/liger: HF's switch puts in the same kernels where all of them are on.
void read_axolotl_plugins(Reader& reader, Draft& draft) {
    bool liger = false;
    bool cuts = false;
    for (const std::string& plugin : reader.texts("plugins").value_or(std::vector<std::string>())) {
        const bool harmless = plugin.find("swanlab") != plugin.npos;
        liger = liger || plugin == "axolotl.integrations.liger.LigerPlugin";
        const bool cut = plugin == "axolotl.integrations.cut_cross_entropy.CutCrossEntropyPlugin";
        cuts = cuts || cut;
        if (plugin != "axolotl.integrations.liger.LigerPlugin" && !harmless && !cut)
            reader.refuse("plugins", fmt::format("{} is not predicted", plugin), "take it out");
    }
    // integrations/cut_cross_entropy/args.py: on unless switched off; without the plugin nothing is patched.
    const bool cut_key = reader.boolean("cut_cross_entropy").value_or(cuts);
    if (cuts && cut_key) {
        draft.job.plan.training.cut_cross_entropy = true;
        reader.note(RemarkKind::kernel_not_modelled,
                    "cut cross entropy is predicted with a label at every token and without Triton's autotuning",
                    "sequences with labels on a part of their tokens need a little less");
    } else if (cut_key) {
        reader.refuse("cut_cross_entropy", "without its plugin axolotl does not put it in",
                      "plugins: [axolotl.integrations.cut_cross_entropy.CutCrossEntropyPlugin], or take the key out");
    }
    const bool rope = reader.boolean("liger_rope").value_or(false);
    const bool norm = reader.boolean("liger_rms_norm").value_or(false);
    const bool older = reader.boolean("liger_swiglu").value_or(false);
    const bool glu = reader.boolean("liger_glu_activation").value_or(false) || older;
    const bool loss = reader.boolean("liger_fused_linear_cross_entropy").value_or(false);
    if (!liger || !(rope || norm || glu || loss)) return;
    if (rope && norm && glu && loss) {
        draft.job.plan.training.use_liger_kernel = true;
        return;
    }
    reader.refuse(loss   ? "liger_fused_linear_cross_entropy"
                  : norm ? "liger_rms_norm"
                         : "plugins",
                  "some of Liger's kernels without the others are not predicted",
                  "liger_rope, liger_rms_norm, liger_glu_activation and liger_fused_linear_cross_entropy: all true");
}

void read_axolotl_checkpointing(Reader& reader, Draft& draft) {
    TrainingPlan& training = draft.job.plan.training;
    const Value* given = reader.value("gradient_checkpointing");
    if (given && given->kind == Value::Kind::text)
        reader.refuse("gradient_checkpointing", fmt::format("{} is not predicted", given->shown()), "true or false");
    else
        training.gradient_checkpointing = reader.boolean_or("gradient_checkpointing", false);
    // utils/config/__init__.py normalize_config; with kwargs that do not say it transformers 5 takes false.
    const bool otherwise = !reader.has("gradient_checkpointing_kwargs");
    const auto reentrant = reader.boolean("gradient_checkpointing_kwargs.use_reentrant");
    training.use_reentrant = reentrant.value_or(otherwise);
    if (training.gradient_checkpointing && !reentrant)
        reader.assume("gradient_checkpointing_kwargs.use_reentrant", otherwise ? "true" : "false");
}

// utils/config/__init__.py normalize_config: ddp is on where there are several processes, and each loads on its card;
// core/builders/causal.py: unused parameters are looked for only on request.
void read_axolotl_processes(Reader& reader, Draft& draft) {
    draft.loads_on_card = true;
    read_ddp(reader, draft);
    draft.no_fsdp = kAxolotlAlone;
    allow_zero(draft);
    DdpPlan& ddp = std::get<DdpPlan>(draft.processes->method);
    if (reader.boolean("ddp").value_or(true)) ddp.find_unused_parameters = ddp.find_unused_parameters.value_or(false);
    if (asks_for_axolotl_fsdp(reader)) read_fsdp_of_axolotl(reader, draft);
    read_parallelism_of_axolotl(reader, draft);
}

// loaders/utils.py load_model_config sets what the file says; schemas/deprecated.py: model_config is the older name.
void read_model_overrides(Reader& reader, Draft& draft) {
    for (const char* key : {"model_config.output_router_logits", "overrides_of_model_config.output_router_logits"})
        if (const auto asked = reader.boolean(key); asked && draft.job.model.mixture)
            draft.job.model.mixture->output_router_logits = *asked;
}

void read_axolotl(Reader& reader, Draft& draft) {
    draft.training_read = true;
    read_model_overrides(reader, draft);
    read_axolotl_processes(reader, draft);
    read_axolotl_precision(reader, draft);
    read_axolotl_attention(reader, draft);
    read_axolotl_checkpointing(reader, draft);
    read_axolotl_method(reader, draft);
    read_axolotl_casts(reader, draft);
    require_input_grads(draft);
    read_axolotl_batch(reader, draft);
    read_axolotl_plugins(reader, draft);
    leave_axolotl_casts(reader, draft);
    read_optimizer(reader, "optimizer", "adamw_torch_fused", draft);
    if (auto arguments = reader.text("optim_args")) draft.job.plan.training.optim_args = *arguments;
    draft.job.plan.training.max_grad_norm = reader.real_or("max_grad_norm", 1.0);
    draft.job.plan.training.weight_decay = reader.real("weight_decay").value_or(0);
    read_axolotl_preferences(reader, draft);
    const std::int64_t rows = draft.job.model.vocab_size;
    if (reader.boolean("resize_token_embeddings_to_32x").value_or(false) && rows % 32 != 0)
        draft.job.plan.load.resize_token_embeddings = (rows + 31) / 32 * 32;
}

}  // namespace

}  // namespace vramfit::trainers

namespace vramfit::trainer_formats {

extern const TrainerFormat axolotl_entry;
const TrainerFormat axolotl_entry = {
    .name = "axolotl",
    .title = "axolotl 0.19",
    .summary = "YAML of axolotl train",
    .stack = "axolotl-0.19",
    .order = 60,
    .recognises = trainers::is_axolotl,
    .keys = trainers::kAxolotlTables,
    .releases = "axolotl up to 0.19",
    .model = [](trainers::Reader& reader) { return reader.text("base_model").value_or(""); },
    .read = trainers::read_axolotl,
    .knobs = {.batch = "micro_batch_size",
              .accumulation = "gradient_accumulation_steps",
              .whole_batch = "batch_size",
              .rank = "lora_r",
              .checkpointing = "gradient_checkpointing=true",
              .sdpa = "attn_implementation=sdpa eager_attention=",
              .flash_attention =
                  "attn_implementation=flash_attention_2 flash_attention= sdp_attention= eager_attention=",
              .liger = "plugins=[axolotl.integrations.liger.LigerPlugin] liger_rope=true liger_rms_norm=true "
                       "liger_glu_activation=true liger_fused_linear_cross_entropy=true",
              .optimizer = "optimizer=paged_adamw_8bit",
              .unpacked = "sample_packing=false pad_to_sequence_len=false",
              .double_quant = "bnb_config_kwargs.bnb_4bit_use_double_quant=true",
              .bfloat16 = "bf16=true fp16= float16=",
              .quantize = "adapter=qlora load_in_4bit=true load_in_8bit=",
              .lora = "adapter=lora lora_r=16 lora_alpha=32 lora_target_linear=true",
              .qlora = "adapter=qlora load_in_4bit=true lora_r=16 lora_alpha=32 lora_target_linear=true"},
};

}  // namespace vramfit::trainer_formats
