// Adapters of other kinds than LoRA: what peft 0.21.2 stops at, and what was not compared with it.
#include <algorithm>

#include <fmt/format.h>

#include "spec/adapters/read.hpp"
#include "spec/last_part.hpp"
#include "spec/network/document.hpp"
#include "spec/plan_check_parts.hpp"
#include "vramfit/spec/plan_names.hpp"
#include "vramfit/spec/suggest.hpp"

namespace vramfit {

namespace {

/// A module that adapters of the kind cannot be put on.
void check_module(const ModelSpec& model, const AdapterKindFacts& facts, const NamedModule& module,
                  Problems& problems) {
    const auto where = "peft.target_modules";
    if (facts.kind == AdapterKind::ln_tuning) {
        if (module.kind != ModuleKind::norm)
            problems.unsupported(
                where, fmt::format("LN tuning of '{}', which is no norm, is not supported", module.name), "name norms");
        return;
    }
    if (module.kind == ModuleKind::conv1d && !facts.over_conv1d)
        problems.unsupported(where, fmt::format("{} on '{}', a Conv1D, is not supported", facts.title, module.name),
                             "LoRA, IA3, VeRA or AdaLoRA");
    else if (module.kind != ModuleKind::linear && module.kind != ModuleKind::conv1d)
        problems.unsupported(where, fmt::format("{} on '{}' is not supported", facts.title, module.name),
                             "name linear layers");
    else if (module.layer < 0 && (!model.recording || module.name == model.recording->output_embeddings))
        problems.unsupported(where, fmt::format("{} on '{}' is not supported", facts.title, module.name),
                             "modules of the decoder layers");
}

/// tuners/osf/layer.py OSFLayer.update_layer.
void check_osf_rank(const AdapterOptions& options, const NamedModule& module, Problems& problems) {
    const std::int64_t rank = osf_rank(options, module), smaller = std::min(module.in, module.out);
    if (rank < 1)
        problems.invalid("peft.effective_rank",
                         fmt::format("`effective_rank` should be a positive integer value but the value passed is {} "
                                     "for '{}' (peft)",
                                     rank, module.name),
                         "at least 1");
    if (rank >= smaller)
        problems.unsupported("peft.effective_rank",
                             fmt::format("{} leaves nothing of '{}' to be trained", rank, module.name),
                             fmt::format("at most {}", smaller - 1));
}

void check_sizes_of(const LoraPlan& plan, const LoraTarget& target, Problems& problems) {
    const NamedModule& module = target.module;
    const auto divides = [&](std::string_view key, std::int64_t size, std::int64_t by) {
        if (size % by != 0)
            problems.invalid(fmt::format("peft.{}", key),
                             fmt::format("the {} features of '{}' do not divide by {} (peft)", size, module.name, by),
                             "a divisor");
    };
    // tuners/road/layer.py RoadLayer.update_layer, tuners/vblora/layer.py VBLoRALayer.update_layer.
    if (plan.kind == AdapterKind::road) divides("group_size", module.out, plan.options.group_size);
    if (plan.kind == AdapterKind::road && plan.options.group_size % 2 != 0)
        problems.invalid("peft.group_size", fmt::format("{} is odd: groups have two halves", plan.options.group_size),
                         "an even number");
    if (plan.kind == AdapterKind::vblora)
        for (const std::int64_t size : {module.in, module.out})
            divides("vector_length", size, plan.options.vector_length);
    // tuners/gralora/layer.py GraloraLayer.update_layer.
    if (plan.kind == AdapterKind::gralora)
        for (const std::int64_t size : {module.in, module.out}) divides("gralora_k", size, plan.options.gralora_k);
    // tuners/supertuning/layer.py SupertuningLayer.update_layer.
    if (plan.kind == AdapterKind::supertuning && supertuned_entries(plan.options, module) < 1)
        problems.invalid(
            "peft.sparsity",
            fmt::format("{} leaves no trainable entries for '{}' (peft)", plan.options.sparsity, module.name),
            "a smaller one");
    // tuners/deft/layer.py DeftLayer.update_layer.
    if (plan.kind == AdapterKind::deft && target.r > module.out)
        problems.unsupported("peft.r",
                             fmt::format("{} is more than the {} outputs of '{}', which peft takes in its place",
                                         target.r, module.out, module.name),
                             "a smaller one");
    // tuners/psoft/layer.py PsoftLayer.update_layer.
    if (plan.kind == AdapterKind::psoft && target.r > std::min(module.in, module.out))
        problems.invalid("peft.r",
                         fmt::format("{} is more than the smaller side of '{}', {} x {} (peft)", target.r, module.name,
                                     module.in, module.out),
                         "a smaller one");
    if (plan.kind == AdapterKind::osf) check_osf_rank(plan.options, module, problems);
    // tuners/miss/layer.py MissLayer.update_layer.
    if (plan.kind == AdapterKind::miss && target.r > module.in)
        problems.invalid("peft.r",
                         fmt::format("{} is more than the {} inputs of '{}' (peft)", target.r, module.in, module.name),
                         "a smaller one");
}

/// engine/ops/index.hpp kTopkColumns: of more vectors torch.topk takes kernels that are not modelled.
constexpr std::int64_t kMostVectors = 399;

void check_vectors(const AdapterOptions& options, Problems& problems) {
    if (options.num_vectors > kMostVectors)
        problems.unsupported("peft.num_vectors",
                             fmt::format("VB-LoRA with {} vectors is not supported", options.num_vectors),
                             fmt::format("at most {}", kMostVectors));
    if (options.topk > options.num_vectors)
        problems.invalid("peft.topk",
                         fmt::format("{} of {} vectors cannot be chosen", options.topk, options.num_vectors),
                         "at most num_vectors");
}

/// tuners/psoft/layer.py OrthLayer.get_matrix.
void check_rotations(const AdapterOptions& options, Problems& problems) {
    if (options.psoft_orth && !options.psoft_neumann)
        problems.unsupported("peft.use_cayley_neumann",
                             "PSOFT solves linear systems by cuSOLVER in each step, whose scratch shows on a GPU only",
                             "use_cayley_neumann: true");
}

/// tuners/gralora/config.py GraloraConfig.__post_init__.
void check_blocks(const LoraPlan& plan, Problems& problems) {
    if (plan.r % plan.options.gralora_k != 0)
        problems.invalid(
            "peft.r",
            fmt::format("{} does not divide by gralora_k, which is {} (peft)", plan.r, plan.options.gralora_k),
            "a multiple of gralora_k");
}

/// tuners/lily/model.py LilyModel._post_injection_hook: the last name of a set that the module's ends with says what
/// it shares, and of twenty names and more tuners_utils.py makes others (MIN_TARGET_MODULES_FOR_OPTIMIZATION).
void check_sharing(const LoraPlan& plan, const std::vector<LoraTarget>& targets, Problems& problems) {
    const auto refuse = [&](const std::string& what) {
        problems.unsupported("peft.target_modules", fmt::format("Lily on {} is not supported", what),
                             "a name for each kind of module: q_proj, v_proj");
    };
    constexpr std::size_t kMostNames = 19;
    const auto* const names = std::get_if<std::vector<std::string>>(&plan.target_modules);
    if (!names) {
        if (lower_case(std::get<std::string>(plan.target_modules)) == "all-linear") refuse("all-linear");
        return;
    }
    if (names->size() > kMostNames) return refuse("twenty names and more");
    for (const LoraTarget& target : targets) {
        const auto count = std::count_if(names->begin(), names->end(),
                                         [&](const std::string& name) { return target.module.name.ends_with(name); });
        if (count > 1) return refuse(fmt::format("'{}', which ends with several of the names,", target.module.name));
    }
}

/// tuners/oft/layer.py OFTRotationModule.forward takes what has four dimensions for a convolution's input, and
/// tuners/gralora/layer.py Linear.forward unpacks three.
void check_dimensions(const LoraPlan& plan, const LoraTarget& target, Problems& problems) {
    const bool stops = plan.kind == AdapterKind::oft || plan.kind == AdapterKind::gralora;
    if (stops && last_part(target.module.name) == "kv_b_proj")
        problems.invalid(
            "peft.target_modules",
            fmt::format("peft stops: {} of '{}', whose input has four dimensions{}", facts_of(plan.kind).title,
                        target.module.name, plan.kind == AdapterKind::oft ? ", takes it for a convolution" : ""),
            "modules without kv_b_proj");
}

}  // namespace

void check_other_kind(const ModelSpec& model, const LoraPlan& plan, const std::vector<LoraTarget>& targets,
                      Problems& problems) {
    const AdapterKindFacts& facts = facts_of(plan.kind);
    if (facts.is_prompt) return check_prompt_kind(plan, problems);
    if (plan.kind == AdapterKind::adaption_prompt) return check_adaption_prompt(model, plan, problems);
    if (plan.kind == AdapterKind::trainable_tokens) return check_token_indices(model, plan, problems);
    if (plan.kind == AdapterKind::vblora) check_vectors(plan.options, problems);
    if (plan.kind == AdapterKind::gralora) check_blocks(plan, problems);
    if (plan.kind == AdapterKind::psoft) check_rotations(plan.options, problems);
    if (plan.kind == AdapterKind::lily) check_sharing(plan, targets, problems);
    check_mamba_targets(model, plan, targets, problems);
    const auto* const names = std::get_if<std::vector<std::string>>(&plan.target_modules);
    if (names && names->empty())
        return problems.invalid("peft.target_modules",
                                fmt::format("peft has no default targets of {} for {} (Please specify "
                                            "`target_modules`)",
                                            facts.title, model.model_type),
                                "name modules of the network");
    if (targets.empty())
        return problems.invalid("peft.target_modules", "matches no module (peft: NoMatchingPeftModuleError)",
                                fmt::format("the network has {}", fmt::join(targetable_names(model), ", ")));
    for (const LoraTarget& target : targets) {
        check_dimensions(plan, target, problems);
        if (!problems.none()) return;
        check_module(model, facts, target.module, problems);
        check_sizes_of(plan, target, problems);
        if (plan.kind == AdapterKind::ia3) is_feedforward(model, plan, target.module.name);
        if (!problems.none()) return;
    }
}

namespace {

/// Of kinds with virtual tokens.
void check_beside_prompt(const ModelSpec& model, const TrainPlan& plan, Problems& problems) {
    if (!fills_cache(plan.peft->kind)) return;
    const AdapterKindFacts& facts = facts_of(plan.peft->kind);
    if (plan.training.gradient_checkpointing || plan.load.gradient_checkpointing)
        problems.invalid("training.gradient_checkpointing",
                         fmt::format("{} does not work with gradient checkpointing (peft)", facts.peft_type), "false");
    if (plan.batch.attention_mask == AttentionMask::absent)
        problems.unsupported("batch.attention_mask", fmt::format("{} without a mask is not supported", facts.title),
                             "ones");
    if (model.sliding_window)
        problems.unsupported("model", fmt::format("{} with layers that slide is not supported", facts.title),
                             "another model");
}

void check_where_weights_are_taken_apart(const TrainPlan& plan, Problems& problems) {
    const bool on_host = plan.load.moved_by_trainer && !plan.distributed;
    if (!takes_weights_apart(*plan.peft) || on_host) return;
    const bool by_initialization = plan.peft->kind == AdapterKind::lora && !plan.peft->kasa;
    problems.unsupported(
        "load.moved_by",
        fmt::format("{} of a network that is on the GPU is not supported: cuSOLVER takes apart its weights there, and "
                    "its scratch shows on a GPU only",
                    by_initialization ? fmt::format("LoRA by '{}'", plan.peft->init_lora_weights)
                                      : std::string(title_of(*plan.peft))),
        "load in host memory, as from_pretrained does without device_map, and let Trainer move it: \"device_map\": "
        "null, \"moved_by\": \"trainer\" (--moved_by trainer)");
}

/// Of prompts inside of attention.
void check_beside_adaption_prompt(const TrainPlan& plan, const Stack& stack, Problems& problems) {
    // tuners/adaption_prompt/model.py AdaptionPromptModel.__init__ keeps the network's forward as it was before trl
    // puts in one that scores in chunks.
    if (plan.loop.kind == LoopKind::sft && stack.sft_scores_in_chunks())
        problems.invalid("peft.peft_type",
                         "trl's SFTTrainer stops: 'CausalLMOutputWithPast' object has no attribute 'log_probs'",
                         "Trainer, or another kind of adapters");
    if (stack.attention_in_classes())
        problems.unsupported("stack", "adaption prompts in attention that is a class of its own are not supported",
                             "transformers 4.48 or later");
}

/// With which words peft or torch stops over bitsandbytes' layers; empty: it does not always.
std::string_view stops_over_packed(AdapterKind kind) {
    switch (kind) {
        case AdapterKind::delora: return "linalg.vector_norm: Expected a floating point or complex tensor as input";
        case AdapterKind::glora: return "not a plain torch.nn.Linear; GLoRA does not support this layer type (peft)";
        case AdapterKind::supertuning: return "mat1 and mat2 shapes cannot be multiplied (torch)";
        default: return {};
    }
}

}  // namespace

void check_beside_other_kind(const ModelSpec& model, const TrainPlan& plan, const Stack& stack, Problems& problems) {
    if (!plan.peft) return;
    const AdapterKindFacts& facts = facts_of(plan.peft->kind);
    const bool is_variant = plan.peft->is_variant();
    const bool is_lora = facts.kind == AdapterKind::lora && !is_variant;
    check_where_weights_are_taken_apart(plan, problems);
    if (is_lora && plan.peft->options.token_indices.empty()) return;
    const std::string_view title = is_lora ? "LoRA with trained tokens" : title_of(*plan.peft);
    const auto refuse = [&](bool given, std::string_view where, std::string_view with, std::string_view hint) {
        if (given)
            problems.unsupported(where, fmt::format("{} with {} is not supported", title, with), std::string(hint));
    };
    if (stack.peft < Version{0, 21, 0})
        problems.unsupported("peft.peft_type",
                             fmt::format("{} of peft {} is not supported", title, text_of(stack.peft)),
                             "a stack with peft 0.21 or later");
    const bool by_sft = plan.loop.kind == LoopKind::sft && !is_lora && wraps_modules(facts);
    refuse(plan.loop.kind != LoopKind::trainer && plan.loop.kind != LoopKind::plain && !by_sft, "loop.kind",
           fmt::format("the loop {}", name_of(plan.loop.kind)),
           wraps_modules(facts) ? "trainer, sft or plain" : "trainer or plain");
    if (facts.kind == AdapterKind::adaption_prompt) check_beside_adaption_prompt(plan, stack, problems);
    refuse(plan.distributed.has_value(), "distributed", "several processes", "one process");
    refuse(model.recording && !wraps_modules(facts), "model", "a recorded network", "one of the families");
    // In a trace its scan made other copies.
    refuse(
        model.recording && model.model_type == "falcon_h1" && facts.kind == AdapterKind::ia3 && plan.load.quantization,
        "load.quantization_config", "a quantized base of falcon_h1", "a base in 16 bits");
    refuse(model.mixture.has_value(), "model", "a mixture of experts", "a network without experts");
    refuse(!plan.load.on_device && !plan.load.moved_by_trainer, "load.device_map",
           "a network that the script moves out of host memory", "{\"\": 0}, or \"moved_by\": \"trainer\" beside it");
    // AdaLoRA's `ranknum` in float32 stays the frozen parameter that it was made as where nothing is moved.
    const bool stays_frozen = facts.kind == AdapterKind::adalora && plan.load.dtype == DType::float32;
    refuse(plan.load.moved_by_trainer && (facts.kind == AdapterKind::vblora || stays_frozen), "load.moved_by",
           "a network that Trainer moves", "\"device_map\": {\"\": 0}");
    refuse(plan.load.upcast.has_value(), "load.upcast", "axolotl's casts", "leave it out");
    refuse(plan.load.cast_after_adapter.has_value(), "load.cast_after_adapter", "a cast of the whole network",
           "leave it out");
    refuse(plan.trl_casting_to_bf16, "trl.peft_module_casting_to_bf16", "a cast of the whole network", "false");
    if (const std::string_view words = stops_over_packed(facts.kind); plan.load.quantization && !words.empty())
        problems.invalid("load.quantization_config", fmt::format("{} over packed layers stops: {}", title, words),
                         "a base in 16 bits, or LoRA");
    else
        refuse(plan.load.quantization && (is_variant || !facts.over_packed), "load.quantization_config",
               "a quantized base", "a base in 16 bits, or LoRA");
    const bool in_8bit = plan.load.quantization && plan.load.quantization->method == QuantMethod::int8;
    // tuners/ia3/bnb.py, tuners/adalora/bnb.py: without autocast some results become float32, and attention stops. Only
    // some over 4-bit layers were compared there.
    const bool no_autocast = !plan.training.bf16 && !plan.training.fp16;
    constexpr AdapterKind kCompared[] = {AdapterKind::vera,           AdapterKind::oft,  AdapterKind::miss,
                                         AdapterKind::unilora,        AdapterKind::lily, AdapterKind::beft,
                                         AdapterKind::adaption_prompt};
    const bool compared = std::find(std::begin(kCompared), std::end(kCompared), facts.kind) != std::end(kCompared);
    const bool compared_in_8bit = facts.kind == AdapterKind::adaption_prompt;
    if (plan.load.quantization && no_autocast && (!compared || (in_8bit && !compared_in_8bit)))
        refuse(true, "load.quantization_config", "a quantized base and without autocast", "training.bf16");
    refuse(in_8bit && facts.kind == AdapterKind::randlora, "load.quantization_config", "a base in 8 bits",
           "load_in_4bit");
    refuse(plan.training.use_liger_kernel, "training.use_liger_kernel", "Liger's kernels", "false");
    if (facts.is_prompt) check_beside_prompt(model, plan, problems);
    check_tokens_are_known(model, plan, problems);
}

}  // namespace vramfit
