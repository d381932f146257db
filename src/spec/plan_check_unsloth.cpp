// Unsloth's own step: what it was compared with, and what is refused by name.
#include <algorithm>
#include <set>
#include <span>

#include <fmt/format.h>

#include "spec/plan_check_parts.hpp"
#include "vramfit/spec/plan_check.hpp"
#include "vramfit/spec/stacks.hpp"

namespace vramfit {

namespace {

constexpr std::int64_t kFirstTable = 32768;

/// Collects what is not in the slice.
class Slice {
  public:
    explicit Slice(Problems& problems) : problems_(problems) {}
    void refuse_if(bool condition, std::string_view where, std::string_view what, std::string_view hint) {
        if (condition) problems_.unsupported(where, fmt::format("{} with Unsloth's step", what), std::string(hint));
    }

  private:
    Problems& problems_;
};

void check_network(const ModelSpec& model, const TrainPlan& plan, Slice& slice) {
    const bool known = model.model_type == "llama" || model.model_type == "mistral" || model.model_type == "qwen2" ||
                       model.model_type == "qwen3" || model.model_type == "gemma";
    slice.refuse_if(!known || model.recording, "model.model_type", fmt::format("{} is not supported", model.model_type),
                    "llama, mistral, qwen2, qwen3 and gemma are; of others --recipe unsloth and vramfit check say an "
                    "upper bound");
    slice.refuse_if(model.attention_bias && model.model_type != "qwen2", "model.attention_bias",
                    "a bias of the projections is not supported", "a network without");
    slice.refuse_if(model.mlp_bias, "model.mlp_bias", "a bias of the MLP is not supported", "a network without");
    slice.refuse_if(known && model.model_type != "gemma" && model.hidden_act != Activation::silu, "model.hidden_act",
                    "another activation than silu is not supported", "silu");
    slice.refuse_if(model.rope_type != "default" && model.rope_type != "llama3", "model.rope_scaling",
                    fmt::format("rotary embeddings of type '{}' are not supported", model.rope_type),
                    "default and llama3 are");
    slice.refuse_if(model.sliding_window && *model.sliding_window < plan.batch.sequence_length, "model.sliding_window",
                    "rows longer than the sliding window are not supported", "rows of at most sliding_window tokens");
    const std::int64_t longest =
        std::max(plan.batch.sequence_length, plan.unsloth.max_seq_length.value_or(plan.batch.sequence_length));
    // models/llama.py LlamaRotaryEmbedding: a table of fewer positions grows with the rows.
    slice.refuse_if(!plan.unsloth.padding_free && plan.batch.sequence_length > kFirstTable, "batch.sequence_length",
                    "padded rows of more than 32768 tokens are not supported", "padding_free true");
    slice.refuse_if(longest > model.max_position_embeddings, "batch.sequence_length",
                    "more positions than the network has are not supported", "shorter rows and max_seq_length");
}

constexpr std::string_view kOfAttention[] = {"q_proj", "k_proj", "v_proj", "o_proj"};
constexpr std::string_view kOfMlp[] = {"gate_proj", "up_proj", "down_proj"};

/// How many of these projections have adapters.
std::size_t count_of(const std::set<std::string>& targets, std::span<const std::string_view> projections) {
    return static_cast<std::size_t>(std::count_if(projections.begin(), projections.end(), [&](std::string_view name) {
        return targets.contains(std::string(name));
    }));
}

/// Which projections have adapters: any of the attention's, and all or none of the MLP's.
void check_targets(const ModelSpec& model, const TrainPlan& plan, const LoraPlan& lora, Slice& slice) {
    const bool is_gemma = model.model_type == "gemma";
    slice.refuse_if(is_gemma && (lora.lora_dropout != 0 || !plan.unsloth.padding_free), "model.model_type",
                    "gemma with dropout of the adapters or padded rows is not supported", "neither");
    slice.refuse_if(lora.lora_dropout != 0 && (model.attention_bias || !plan.unsloth.padding_free), "peft.lora_dropout",
                    "a dropout of the adapters beside biases or padded rows is not supported", "0");
    const auto* text = std::get_if<std::string>(&lora.target_modules);
    if (text && *text == "all-linear") return;
    std::set<std::string> targets;
    if (const auto* names = std::get_if<std::vector<std::string>>(&lora.target_modules))
        targets.insert(names->begin(), names->end());
    const std::size_t attention = count_of(targets, kOfAttention), mlp = count_of(targets, kOfMlp);
    const bool whole_mlp = mlp == 0 || mlp == std::size(kOfMlp);
    slice.refuse_if(targets.empty() || attention + mlp != targets.size() || !whole_mlp, "peft.target_modules",
                    "adapters of other modules, and of a part of the MLP, are not supported",
                    "q_proj, k_proj, v_proj, o_proj; gate_proj, up_proj, down_proj together or not at all");
    slice.refuse_if(lora.lora_dropout != 0 && attention + mlp < 7, "peft.lora_dropout",
                    "a dropout of the adapters of some projections is not supported", "0");
    slice.refuse_if(is_gemma && attention + mlp < 7, "peft.target_modules",
                    "gemma with adapters of some projections is not supported", "all seven");
    slice.refuse_if(!plan.unsloth.padding_free && attention + mlp < 7, "peft.target_modules",
                    "padded rows with adapters of some projections are not supported", "padding_free true");
}

/// What is trained whole.
void check_saved(const LoraPlan& lora, Slice& slice) {
    slice.refuse_if(!std::all_of(lora.modules_to_save.begin(), lora.modules_to_save.end(), is_end_of_network),
                    "peft.modules_to_save",
                    "training other modules whole than the embedding and the head is not supported",
                    "embed_tokens and lm_head");
}

/// unsloth 2026.10.7, models/_ddp_defaults.py: for these it leaves the search to transformers, which searches.
void check_search(const TrainPlan& plan, Problems& problems) {
    const DdpPlan* const ddp = plan.distributed ? plan.distributed->as<DdpPlan>() : nullptr;
    if (ddp && !ddp->find_unused_parameters && !plan.peft->modules_to_save.empty())
        problems.invalid("distributed.ddp",
                         "torch stops with modules_to_save: \"Expected to mark a variable ready only once\" (a search "
                         "for unused parameters does not go with reentrant checkpointing)",
                         "ddp_find_unused_parameters false");
}

/// get_peft_model, by the fused functions or by peft's own.
void check_adapters_of_unsloth(const ModelSpec& model, const TrainPlan& plan, const LoraPlan& lora, Slice& slice) {
    check_targets(model, plan, lora, slice);
    check_saved(lora, slice);
    slice.refuse_if(has_more_in_layers(lora), "peft", "more than LoRA's two matrices is not supported",
                    "no use_dora, bias, lora_bias, target_parameters");
    slice.refuse_if(!lora.rank_pattern.empty(), "peft.rank_pattern", "ranks by pattern are not supported",
                    "leave it out");
    slice.refuse_if(lora.layers_to_transform || !lora.layers_pattern.empty(), "peft.layers_to_transform",
                    "adapters of some layers are not supported", "leave it out");
    slice.refuse_if(lora.exclude_modules.has_value(), "peft.exclude_modules", "exceptions are not supported",
                    "leave it out");
    slice.refuse_if(lora.init_lora_weights != "true", "peft.init_lora_weights",
                    "another initialization is not supported", "true");
}

void check_load(const TrainPlan& plan, Slice& slice) {
    const LoadPlan& load = plan.load;
    if (const auto& quantization = load.quantization) {
        const bool is_its = quantization->method == QuantMethod::nf4 && quantization->double_quant &&
                            quantization->storage == DType::uint8 && !quantization->skip_modules_given;
        slice.refuse_if(!is_its, "load.quantization_config",
                        "other packed weights than nf4 with double quantization "
                        "are not supported",
                        "nf4 with double quantization, or LoRA in 16 bits");
    }
    slice.refuse_if(load.attention != AttentionImplementation::sdpa || load.sdpa_kernel || load.sdpa_expand_kv,
                    "load.attn_implementation", "a choice of the attention is not supported", "sdpa");
    slice.refuse_if(!load.quantization && !plan.unsloth.skip_modules.empty(), "unsloth.llm_int8_skip_modules",
                    "layers that stay in 16 bits beside others in 16 bits are not supported", "load_in_4bit");
    slice.refuse_if(plan.prepare_kbit.has_value(), "prepare_kbit", "peft's preparation is not supported", "null");
    slice.refuse_if(load.resize_token_embeddings || load.upcast || load.cast_after_adapter || !load.on_device ||
                        load.text_part.has_value() || load.shard_size,
                    "load", "a changed or moved model is not supported", "what from_pretrained gives");
    const DType dtype = plan.training.fp16 ? DType::float16 : DType::bfloat16;
    slice.refuse_if(load.dtype != dtype, "load.dtype",
                    fmt::format("weights in another dtype than {} are not supported", name_of(dtype)),
                    "the dtype of training");
}

void check_arguments(const TrainPlan& plan, Slice& slice) {
    const TrainingPlan& training = plan.training;
    slice.refuse_if(plan.unsloth.packing && !plan.unsloth.padding_free, "training.packing",
                    "packing beside padded rows is not supported", "padding_free true");
    slice.refuse_if(training.bf16 == training.fp16, "training.bf16",
                    "training without mixed precision is not supported", "bf16, or fp16 on cards without it");
    slice.refuse_if(
        training.use_liger_kernel || training.cut_cross_entropy || training.optimizer_in_backward || training.use_cache,
        "training", "another library's kernels, losses and caches are not supported", "leave them out");
    slice.refuse_if(training.optim == "none", "training.optim", "no optimizer is not supported", "adamw_8bit");
    slice.refuse_if(plan.evaluation.has_value(), "training.eval_strategy", "evaluation is not supported",
                    "leave it out");
    slice.refuse_if(plan.distributed && !plan.distributed->as<DdpPlan>(), "distributed",
                    "parameters and states that processes share are not supported", "ddp, or one GPU");
    const DdpPlan* const ddp = plan.distributed ? plan.distributed->as<DdpPlan>() : nullptr;
    slice.refuse_if(ddp && (ddp->find_unused_parameters.value_or(false) || ddp->static_graph), "distributed.ddp",
                    "a search for unused parameters, or a static graph, is not supported",
                    "ddp_find_unused_parameters false, which is Unsloth's own choice");
    slice.refuse_if(plan.batch.attention_mask != AttentionMask::ones || plan.batch.labels != Labels::copy, "batch",
                    "other masks and labels are not supported", "ones and copy");
    const std::vector<std::int64_t> lengths = row_lengths(plan);
    slice.refuse_if(std::any_of(lengths.begin(), lengths.end(),
                                [&](std::int64_t length) { return length > plan.batch.sequence_length; }),
                    "batch.lengths", "a row that is longer than batch.sequence_length is not supported",
                    "sequence_length as long as the longest row");
    slice.refuse_if(!lengths.empty() && plan.unsloth.packing, "batch.lengths",
                    "lengths of packed samples are not supported", "leave lengths out: packed rows are full");
    const LoopPlan& loop = plan.loop;
    slice.refuse_if(!loop.grad || loop.loss != LoopLoss::model || !loop.before.empty() ||
                        loop.batch != BatchMove::every_step || loop.zero_grad != ZeroGrad::after_step ||
                        loop.output != OutputLife::until_next_forward,
                    "loop", "what a plain loop does is not supported", "leave it out");
    const auto cut = [&](const std::optional<std::int64_t>& most) {
        return most && *most < plan.batch.sequence_length;
    };
    slice.refuse_if(cut(plan.unsloth.max_seq_length) || cut(training.max_length), "unsloth.max_seq_length",
                    "rows that would be cut are not supported", "rows of at most max_seq_length tokens");
}

}  // namespace

std::vector<std::int64_t> row_lengths(const TrainPlan& plan) {
    const BatchPlan& batch = plan.batch;
    if (!batch.longest_meet || batch.lengths.empty()) return batch.lengths;
    std::vector<std::int64_t> out;
    const auto rows = static_cast<std::size_t>(plan.training.per_device_train_batch_size);
    for (std::size_t row = 0; row < rows; ++row)
        out.push_back(std::min(batch.lengths[row % batch.lengths.size()], batch.sequence_length));
    return out;
}

TrainedEnds trained_ends(const ModelSpec& spec, const TrainPlan& plan) {
    TrainedEnds out;
    if (plan.loop.kind != LoopKind::unsloth || !plan.peft) return out;
    const auto& saved = plan.peft->modules_to_save;
    const auto names = [&](std::string_view name) {
        return std::find(saved.begin(), saved.end(), name) != saved.end();
    };
    out.embedding = names(kEmbeddingName);
    out.head = names(kHeadName);
    out.tied = out.embedding && out.head && spec.tie_word_embeddings;
    return out;
}

bool unsloth_was_compared_on(const Capability& capability) {
    return capability >= Capability{7, 5} && capability < Capability{10, 0};
}

namespace {

/// A packed checkpoint is what Unsloth loads in 4 bits; nobody else's loading of one is predicted.
void check_packed(const ModelSpec& model, const TrainPlan& plan, Problems& problems) {
    if (!model.packed_but_for) return;
    if (plan.loop.kind != LoopKind::unsloth)
        problems.unsupported("model.quantization_config", "a checkpoint that is quantized already is not supported",
                             "--loop unsloth; or the unquantized model, which --method qlora loads in 4 bits");
    else if (!plan.load.quantization)
        problems.unsupported("model.quantization_config", "a packed checkpoint in 16 bits is not supported",
                             "--method qlora (load_in_4bit), or the unquantized model");
}

/// unsloth 2026.10.9 models/_block_compile.py _wrap: a layer that is not given the lengths of packed rows is compiled.
void check_newer_release(const TrainPlan& plan, Slice& slice) {
    slice.refuse_if(!plan.unsloth.padding_free, "training.padding_free",
                    "unsloth 2026.10.9 compiles the layers of padded rows, which is not supported",
                    "padding_free true; or the stack unsloth-2026.10");
}

}  // namespace

void check_unsloth(const ModelSpec& model, const TrainPlan& plan, const Stack& stack, Problems& problems) {
    check_packed(model, plan, problems);
    if (plan.loop.kind != LoopKind::unsloth && !plan.batch.lengths.empty())
        problems.unsupported("batch.lengths", "rows of given lengths are predicted of Unsloth's own step only",
                             "sequence_length as long as the longest row");
    if (plan.loop.kind != LoopKind::unsloth) return;
    const Stack known = stack_from("unsloth-2026.10").stack;
    Slice slice(problems);
    slice.refuse_if(!stack.unsloth_is_known(), "stack",
                    fmt::format("unsloth {} is not supported", text_of(stack.unsloth)),
                    "choose the stack unsloth-2026.10 (2026.10.7) or unsloth-2026.10.9");
    for (const std::string_view library : stack_libraries())
        if (version_of(stack, library) != version_of(known, library) && library != "deepspeed" &&
            library != "flash_attn" && library != "unsloth")
            return slice.refuse_if(true, "stack",
                                   fmt::format("{} {} is not supported", library, text_of(version_of(stack, library))),
                                   "choose the stack unsloth-2026.10 or unsloth-2026.10.9");
    if (stack.unsloth_scores_by_kernels()) check_newer_release(plan, slice);
    check_network(model, plan, slice);
    slice.refuse_if(!plan.peft, "peft", "training of the whole network, whose layers are compiled, is not supported",
                    "LoRA or QLoRA; --recipe unsloth and vramfit check say an upper bound");
    if (plan.peft) check_adapters_of_unsloth(model, plan, *plan.peft, slice);
    if (plan.peft) check_search(plan, problems);
    check_load(plan, slice);
    check_arguments(plan, slice);
}

}  // namespace vramfit
