// Whether a plan makes sense for a network and a stack, before anything is recorded.
#include "vramfit/spec/plan_check.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "spec/liger.hpp"
#include "spec/network/facts.hpp"
#include "spec/plan_check_parts.hpp"
#include "spec/problems.hpp"
#include "spec/zero_check.hpp"
#include "vramfit/base/checked.hpp"
#include "vramfit/spec/config.hpp"
#include "vramfit/spec/modules.hpp"
#include "vramfit/spec/plan_names.hpp"
#include "vramfit/spec/sizes.hpp"
#include "vramfit/spec/suggest.hpp"

namespace vramfit {

namespace {

// transformers 5.17.0, modeling_utils.py, get_correct_attn_implementation.
void check_attention(const ModelSpec& model, const TrainPlan& plan, Problems& problems) {
    if (model.model_type != "gpt_oss" || plan.load.attention == AttentionImplementation::eager) return;
    problems.invalid(
        "load.attn_implementation",
        "gpt_oss has sinks in its attention (transformers: GptOssForCausalLM does not support an attention "
        "implementation through torch.nn.functional.scaled_dot_product_attention yet)",
        "eager");
}

// What releases of transformers cannot do with a network.
void check_release(const ModelSpec& model, const Stack& stack, Problems& problems) {
    if (model.recording) return;  // made with a release of its own: check_recording
    const Version since = family_since(model.model_type);
    if (stack.transformers < since) {
        problems.unsupported(
            "model.model_type",
            fmt::format("transformers {} does not know {}", text_of(stack.transformers), model.model_type),
            fmt::format("choose a stack with transformers {} or later", text_of(since)));
    }
    // modeling_rope_utils.py came with "llama3" in 4.43; before, only linear and dynamic were known.
    const bool old_rope = model.rope_type == "default" || model.rope_type == "linear" || model.rope_type == "dynamic";
    if (!old_rope && !stack.knows_newer_rotary()) {
        problems.unsupported("model.rope_scaling",
                             fmt::format("transformers {} does not know rotary embeddings of type '{}'",
                                         text_of(stack.transformers), model.rope_type),
                             "choose a stack with transformers 4.43 or later");
    }
    // 4.40.2, LlamaAttention, MistralAttention and Qwen2Attention: head_dim = hidden_size // num_heads, whatever the
    // config says.
    const bool own_head_dim =
        model.model_type == "llama" || model.model_type == "mistral" || model.model_type == "qwen2";
    if (own_head_dim && model.head_dim * model.num_attention_heads != model.hidden_size &&
        !stack.config_head_dim_counts()) {
        problems.unsupported("model.head_dim",
                             fmt::format("transformers {} takes hidden_size / num_attention_heads, not {}",
                                         text_of(stack.transformers), model.head_dim),
                             "choose a stack with transformers 4.43 or later");
    }
}

}  // namespace

bool learns_positions(const ModelSpec& model) {
    const auto modules = modules_of(model);
    return std::any_of(modules.begin(), modules.end(),
                       [](const NamedModule& m) { return m.part == ModulePart::positions; });
}

namespace {

// Whether some trainable weight is kept in float16.
bool trains_float16(const ModelSpec& model, const TrainPlan& plan, const Stack& stack) {
    if (plan.load.cast_after_adapter) return *plan.load.cast_after_adapter == DType::float16;
    const auto& quantization = plan.load.quantization;
    if (plan.peft && quantization && quantization->storage == DType::float16)
        return !stack.adapters_of_float16_are_float32();
    // prepare_model_for_kbit_training turns every 16-bit weight that is not quantized into float32.
    const bool kept = plan.load.dtype == DType::float16 && !plan.prepare_kbit;
    if (!kept) return false;
    if (!plan.peft) return true;
    const bool biases = model.attention_bias || model.output_bias || model.mlp_bias;
    if (plan.peft->bias != LoraBias::none && biases) return true;
    const bool saves = !plan.peft->modules_to_save.empty() && plan.loop.kind != LoopKind::unsloth;  // float32 there
    if (saves || plan.peft->kind == AdapterKind::ln_tuning) return true;
    // peft 0.12 casts 16-bit adapters to float32 (autocast_adapter_dtype); before, they took the weight's dtype,
    // which a quantized weight does not hand on.
    return !stack.adapters_of_float16_are_float32() && !plan.load.quantization;
}

/// Module.to(dtype) would cast packed weights that look like numbers (torch nn/modules/module.py Module.to).
void check_storage(const LoadPlan& load, Problems& problems) {
    if (!load.quantization || load.quantization->method == QuantMethod::int8) return;
    const DType storage = load.quantization->storage;
    if (load.cast_after_adapter && is_floating(storage) && storage != *load.cast_after_adapter)
        problems.invalid("load.cast_after_adapter",
                         fmt::format("casts packed weights from {} to {}, which destroys them", name_of(storage),
                                     name_of(*load.cast_after_adapter)),
                         "leave it out, or keep packed weights in uint8");
}

void check_precision(const ModelSpec& model, const TrainPlan& plan, const Stack& stack, Problems& problems) {
    const TrainingPlan& training = plan.training;
    if (training.bf16 && training.fp16)
        problems.invalid("training.fp16", "bf16 and fp16 exclude each other (TrainingArguments)", "choose one");
    if (training.fp16 && !uses_trainer(plan))
        problems.unsupported("training.fp16", "the plain loop has no loss scaling",
                             "choose loop.kind trainer, or bf16");
    // torch/amp/grad_scaler.py, _unscale_grads_. DeepSpeed scales by itself, FSDP trains float32 (prepare_model).
    const bool scales = (!plan.distributed || plan.distributed->as<DdpPlan>()) && training.optim != "none";
    if (training.fp16 && scales && uses_trainer(plan) && trains_float16(model, plan, stack)) {
        problems.invalid("training.fp16",
                         "weights trained in float16 cannot be used with fp16 mixed precision (torch: Attempting to "
                         "unscale FP16 gradients)",
                         plan.peft ? "load in float32 or bfloat16, or leave biases and whole modules out"
                                   : "load in float32, or use bf16");
    }
    // trl 1.16.0, SFTTrainer.__init__, DPOTrainer.__init__, RewardTrainer.__init__, KTOTrainer.__init__: adapters over
    // packed weights become bfloat16.
    const bool casts_adapters =
        (plan.loop.kind == LoopKind::sft && stack.sft_scores_in_chunks()) ||
        (is_preference(plan.loop.kind) && !prepares_by_peft(plan.loop.kind) && !by_own_trainer(plan));
    if (training.fp16 && scales && casts_adapters && plan.load.quantization && plan.peft)
        problems.invalid(
            "training.fp16",
            fmt::format("torch stops in the first step: trl's {} makes adapters over packed weights bfloat16, and "
                        "their gradients cannot be unscaled (\"_amp_foreach_non_finite_check_and_unscale_cuda\" not "
                        "implemented for 'BFloat16')",
                        trainer_of(plan.loop.kind)),
            "bf16, or neither");
    // transformers 5.17.0, trainer.py, validate_quantization_for_training.
    if (plan.load.quantization && !plan.peft && uses_trainer(plan) && plan.loop.grad) {
        problems.invalid("load.quantization_config",
                         "a quantized network cannot be trained as a whole (transformers: you cannot perform "
                         "fine-tuning on purely quantized models)",
                         "give peft");
    }
}

// trl 1.16.0, SFTTrainer's own collator; trl 0.8.6, SFTTrainer prepares the model itself.
void check_sft(const TrainPlan& plan, const Stack& stack, Problems& problems) {
    if (plan.loop.kind != LoopKind::sft) return;
    if (stack.trl == Version{}) {
        problems.unsupported("loop.kind", fmt::format("the stack {} has no trl", stack.name),
                             "give trl's version in the stack");
    } else if (stack.sft_prepares_model()) {
        if (!plan.peft)
            problems.unsupported("peft", "trl 0.8 without adapters is not supported", "choose loop.kind trainer");
        if (plan.prepare_kbit)
            problems.invalid("prepare_kbit", "trl 0.8 prepares the model itself", "leave prepare_kbit out");
    } else if (plan.batch.attention_mask != AttentionMask::ones &&
               plan.batch.attention_mask != AttentionMask::right_padded) {
        problems.invalid("batch.attention_mask", "trl's collator makes the mask itself", "ones or right_padded");
    }
    if (plan.training.max_length && *plan.training.max_length < plan.batch.sequence_length) {
        problems.invalid(
            "training.max_length",
            fmt::format("rows of {} tokens would be cut to {}", plan.batch.sequence_length, *plan.training.max_length),
            fmt::format("set batch.sequence_length to {}", *plan.training.max_length));
    }
}

void check_length_of_run(const TrainPlan& plan, Problems& problems) {
    if (plan.loop.steps > kMostSteps)
        problems.invalid("loop.steps", fmt::format("{} steps are more than {}", plan.loop.steps, kMostSteps),
                         "2 are enough: the second is like all later ones");
    else if (static_cast<std::int64_t>(plan.loop.before.size()) > kMostBatches)
        problems.invalid("loop.before", fmt::format("more than {} forwards", kMostBatches), "give fewer");
    else if (plan.training.gradient_accumulation_steps > kMostBatches / plan.loop.steps)
        problems.invalid("training.gradient_accumulation_steps",
                         fmt::format("{} batches in each of {} steps are more than {} in all",
                                     plan.training.gradient_accumulation_steps, plan.loop.steps, kMostBatches),
                         "accumulate fewer: the third batch of a step is like all later ones");
}

void note_workspaces(const TrainPlan& plan, Notes& notes) {
    if (plan.load.sdpa_kernel != SdpaKernel::cudnn) return;
    notes.push_back({NoteKind::workspace_not_modelled,
                     "the workspaces of cuDNN's attention are counted on Hopper (capability 9.0) alone",
                     "keep memory free for them with --reserve, or choose another kernel"});
}

// Rows beyond the positions of the model.
void check_positions(const ModelSpec& model, const TrainPlan& plan, bool learned, Problems& problems, Notes& notes) {
    if (learned) {
        problems.invalid("batch.sequence_length",
                         fmt::format("{} tokens, but the table of positions has {} rows", tokens_of_row(plan),
                                     model.max_position_embeddings),
                         "a shorter sequence");
    } else {
        notes.push_back({NoteKind::sequence_beyond_model,
                         fmt::format("{} tokens are more than the model's {} positions", tokens_of_row(plan),
                                     model.max_position_embeddings),
                         "a shorter sequence; memory is predicted all the same"});
    }
}

/// Whether all of them can be used.
bool check_sizes(const ModelSpec& model, const TrainPlan& plan, Problems& problems) {
    const auto positive = [&](std::string_view where, std::int64_t value) {
        if (value < 1) problems.invalid(where, fmt::format("{} is below 1", value), "give 1 or more");
    };
    positive("training.per_device_train_batch_size", plan.training.per_device_train_batch_size);
    positive("training.gradient_accumulation_steps", plan.training.gradient_accumulation_steps);
    positive("batch.sequence_length", plan.batch.sequence_length);
    positive("loop.steps", plan.loop.steps);
    if (plan.peft) positive("peft.r", plan.peft->r);
    if (!problems.none()) return false;
    check_length_of_run(plan, problems);
    try {
        // The largest tensors: logits, attention scores, the MLP's inner values, all layers' worth of them.
        const std::int64_t tokens = checked_mul(plan.training.per_device_train_batch_size, tokens_of_row(plan));
        const std::int64_t widest = std::max({model.vocab_size, model.intermediate_size,
                                              checked_mul(model.num_attention_heads, plan.batch.sequence_length)});
        checked_mul(checked_mul(checked_mul(tokens, widest), 64), model.num_hidden_layers);
    } catch (const Error&) {
        problems.invalid("batch.sequence_length",
                         fmt::format("{} rows of {} tokens have more bytes than 63 bits can count",
                                     plan.training.per_device_train_batch_size, plan.batch.sequence_length),
                         "a smaller batch or a shorter sequence");
    }
    return true;
}

}  // namespace

Notes check_plan(const ModelSpec& model, const TrainPlan& plan, const Stack& stack) {
    return PlanChecker(model, stack).check(plan);
}

void PlanChecker::check_adapters(const LoraPlan& plan, Problems& problems) {
    if (fine_ == plan) return;
    LoraPlan any_rank = plan;
    any_rank.r = 0;
    try {
        if (matched_ != any_rank) {
            targets_ = lora_targets(model_, plan);
            matched_ = std::move(any_rank);
        }
        for (LoraTarget& target : targets_)
            if (!target.has_own_rank) target.r = plan.r;
        if (plan.kind == AdapterKind::lora)
            check_lora(model_, plan, targets_, problems);
        else
            check_other_kind(model_, plan, targets_, problems);
        if (problems.none()) fine_ = plan;
    } catch (const Error& error) {
        problems.add(error);
    }
}

Notes PlanChecker::check(const TrainPlan& plan) {
    Problems problems("");
    Notes notes;
    const bool usable = check_sizes(model_, plan, problems);
    if (usable && tokens_of_row(plan) > model_.max_position_embeddings) {
        if (!learns_positions_) learns_positions_ = learns_positions(model_);
        check_positions(model_, plan, *learns_positions_, problems, notes);
    }
    note_workspaces(plan, notes);
    note_rows_alike(plan, notes);
    check_text_part(model_, plan, problems, notes);
    check_release(model_, stack_, problems);
    if (model_.recording) {
        if (!facts_) facts_ = std::make_shared<const network::Facts>(network::facts_of(*model_.recording));
        check_recording(model_, *facts_, plan, stack_, problems, notes);
    }
    check_attention(model_, plan, problems);
    if (plan.peft) check_adapters(*plan.peft, problems);
    check_beside_other_kind(model_, plan, stack_, problems);
    check_mover(plan, problems);
    check_precision(model_, plan, stack_, problems);
    check_storage(plan.load, problems);
    check_sft(plan, stack_, problems);
    check_pairs(plan, stack_, problems);
    check_seconds(model_, plan, problems);
    check_unsloth(model_, plan, stack_, problems);
    check_distributed(plan, stack_, problems);
    if (plan.distributed && plan.distributed->as<Fsdp1Plan>()) check_fsdp1_targets(plan, targets_, problems);
    if (usable) check_size_units(model_, plan, problems);
    check_head_losses(model_, plan, stack_, problems);
    check_zero(plan, stack_, problems);
    if (plan.training.use_liger_kernel && !uses_trainer(plan))
        problems.unsupported("training.use_liger_kernel",
                             "Liger's kernels are put in by the Trainer, not by the plain loop",
                             "choose loop.kind trainer");
    check_trainers_own(plan, problems);
    check_evaluation(model_, plan, problems);
    if (plan.training.torch_empty_cache_steps && !stack_.trainer_empties_cache())
        problems.unsupported("training.torch_empty_cache_steps",
                             fmt::format("transformers {} does not know it", text_of(stack_.transformers)),
                             "choose a stack with transformers 4.44 or later");
    problems.throw_if_any();
    if (plan.training.use_liger_kernel && !has_liger(model_.model_type))
        notes.push_back({NoteKind::without_effect,
                         fmt::format("Liger has no kernels for {}: the network stays as it is", model_.model_type),
                         "leave use_liger_kernel out"});
    note_replaced_optimizer(plan, notes);
    note_uncut(model_, plan, notes);
    if (plan.load.quantization) {
        if (!unquantized_) unquantized_ = unquantized_parameters(model_);
        note_not_quantized(model_, plan, stack_, *unquantized_, notes);
    }
    note_race(model_, plan, stack_, notes);
    return notes;
}

}  // namespace vramfit
