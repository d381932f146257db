// What recorded networks were not compared with, and releases of transformers that do not go with a recording.
#include <algorithm>
#include <set>
#include <type_traits>

#include <fmt/format.h>

#include "spec/liger.hpp"
#include "spec/listed.hpp"
#include "spec/network/balancing.hpp"
#include "spec/network/facts.hpp"
#include "spec/network/model.hpp"
#include "spec/network/release.hpp"
#include "spec/network/rewritten/context_parallel.hpp"
#include "spec/network/rewritten/flash_attention.hpp"
#include "spec/network/rewritten/liger.hpp"
#include "spec/network/rewritten/stage.hpp"
#include "spec/network/rewritten/tensor_parallel.hpp"
#include "spec/plan_check_parts.hpp"
#include "spec/text_part.hpp"
#include "vramfit/spec/checkpointing.hpp"
#include "vramfit/spec/config.hpp"
#include "vramfit/spec/modules.hpp"
#include "vramfit/spec/plan_names.hpp"

namespace vramfit {

namespace {

/// trl 1.16 trainer/sft_trainer.py SFTTrainer.__init__: a loss that balances experts is added unless its coefficient is
/// 0, of the arguments or else of the configuration; only where the configuration has output_router_logits.
template <class Refuse>
void check_balancing(const network::Document& recording, const TrainPlan& plan, const Stack& stack, Problems& problems,
                     const Refuse& refuse) {
    const std::optional<double> asked = plan.training.router_aux_loss_coef;
    if (stack.sft_balances_experts() && !recording.returns_router_logits) {
        if (asked.value_or(0) != 0)
            problems.unsupported("training.router_aux_loss_coef",
                                 "trl stops: the model returns no logits of a router that could be balanced",
                                 "0, or leave it out");
        return;
    }
    if (!recording.returns_router_logits) return;
    if (!stack.sft_balances_experts())
        return refuse("loop.kind", "SFTTrainer of a mixture of experts before trl 1.1", "trl 1.1 or later");
    if (!network::sft_asks_routers(recording, asked)) return;
    constexpr const char* kOff = "training.router_aux_loss_coef 0 switches the loss that balances experts off";
    if (!network::names_its_experts(recording))
        problems.unsupported(
            "loop.kind",
            fmt::format("trl's SFTTrainer stops: the configuration of {} has no attribute 'num_experts'",
                        recording.model_type),
            kOff);
    else if (!network::has_routers(recording))
        refuse("loop.kind", "the loss that balances experts of this mixture", kOff);
}

/// accelerate 1.15 utils/fsdp_utils.py fsdp2_prepare_auto_wrap_policy, utils/dataclasses.py set_auto_wrap_policy: all
/// modules of these classes are units. With adapters FSDP1's policy is peft's (0.21.2 utils/other.py
/// fsdp_auto_wrap_policy), which does not see the names that Trainer's arguments give.
template <class Plan, class Refuse>
void check_units(const network::Document& recording, const network::Facts& facts, const Plan& plan, bool has_adapters,
                 Problems& problems, const Refuse& refuse) {
    constexpr bool kIsFirst = std::is_same_v<Plan, Fsdp1Plan>;
    const bool by_peft = kIsFirst && has_adapters;
    if (plan.wrap_policy == WrapPolicy::size_based)
        return refuse("distributed.fsdp_config.auto_wrap_policy", "wrapping by size", "TRANSFORMER_BASED_WRAP");
    const std::vector<std::string> none;
    const auto& classes = network::unit_classes(recording, by_peft ? none : plan.layer_classes);
    std::vector<std::string> units;
    std::set<std::string> found;
    network::for_each_kind(recording, [&](const std::string& path, const network::ModuleKind& kind) {
        found.insert(kind.class_name);
        if (is_listed(classes, kind.class_name)) units.push_back(path);
    });
    const bool by_class = by_peft || plan.wrap_policy == WrapPolicy::transformer_based;
    for (const std::string& name : classes)
        if (by_class && !found.contains(name))
            return problems.invalid(
                "distributed.fsdp_config",
                by_peft
                    ? std::string("peft stops: Could not find the transformer layer class to wrap in the model")
                    : fmt::format("accelerate stops: Could not find the transformer layer class {} in the model", name),
                by_peft ? "\"version\": 2"
                        : "\"transformer_layer_cls_to_wrap\" with the class of the decoder layers, or \"NO_WRAP\"");
    const bool leaves_all = !kIsFirst && (units.empty() || !by_class);
    if (units != facts.layers && !leaves_all)
        refuse("distributed",
               kIsFirst ? "FSDP1 of other modules than decoder layers" : "FSDP2 of other modules than decoder layers",
               by_peft ? "\"version\": 2, DDP or ZeRO"
                       : "DDP or ZeRO, or \"transformer_layer_cls_to_wrap\" with the class of the decoder layers");
}

/// Methods that cut or wrap modules of a recorded network.
template <class Refuse>
void check_processes(const network::Document& recording, const network::Facts& facts, const TrainPlan& plan,
                     Problems& problems, const Refuse& refuse) {
    const DistributedPlan& processes = *plan.distributed;
    constexpr const char* kHint = "DDP, ZeRO or FSDP";
    const std::string title(name_of(processes.method).title);
    const bool cuts = processes.as<TpPlan>();
    const Fsdp1Plan* const first = processes.as<Fsdp1Plan>();
    const Fsdp2Plan* const second = processes.as<Fsdp2Plan>();
    const bool cuts_rows = second && second->context.size > 1;
    if ((processes.as<PipelinePlan>() && !network::can_be_staged(recording)) ||
        (cuts && !network::can_be_cut(recording)) || (cuts_rows && !network::can_cut_sequences(recording))) {
        const std::string what = cuts_rows ? "context parallelism" : title;
        return refuse("distributed", recording.of_type ? fmt::format("{} of {}", what, recording.model_type) : what,
                      kHint);
    }
    // DeepSpeed gathers the matrices of all experts for each one that is asked, and what is saved of them stays.
    if (is_zero3(plan) && facts.asks_experts_one_by_one)
        return refuse("distributed.deepspeed", "ZeRO-3 of experts that are asked one by one", "ZeRO-2, DDP or FSDP");
    // accelerate 1.15.0 big_modeling.py _attach_context_parallel_hooks.
    if (cuts_rows && network::has_windows(recording))
        return problems.invalid("model",
                                "accelerate stops: context parallelism does not support attention layers of other "
                                "types than full_attention",
                                "a network without sliding windows");
    const bool by_axolotl = second && second->prepared_by == FsdpPreparation::axolotl;
    if (by_axolotl && second->activation_checkpointing)
        return problems.unsupported(
            "distributed.fsdp_config.activation_checkpointing",
            "axolotl checkpoints the parts of layers, which is not supported for recorded types",
            "training.gradient_checkpointing true");
    // axolotl 0.18 monkeypatch/accelerate/fsdp2.py fsdp2_load_full_state_dict: nn.Parameter of all that it sends.
    if (by_axolotl && second->cpu_ram_efficient_loading && !plan.load.quantization && facts.saves_buffers)
        return problems.unsupported("distributed.fsdp_config.cpu_ram_efficient_loading",
                                    "axolotl makes parameters of buffers that checkpoints have, which is not supported",
                                    "false");
    if ((first || second) && !network::bias_of_head(recording).empty())
        return refuse("distributed", fmt::format("{} of a head that shares its bias", title), "DDP or ZeRO");
    // trl's fused head sums up the head's gradient itself, which other modules stand before.
    const bool sums_gradient = plan.loop.kind == LoopKind::sft && !plan.peft;
    if ((first || second) && sums_gradient && !network::has_norm_before_head(recording))
        return refuse("distributed", fmt::format("{} with SFTTrainer of a trained head that follows no norm", title),
                      "DDP or ZeRO, transformers' Trainer, or adapters");
    if (first) check_units(recording, facts, *first, plan.peft.has_value(), problems, refuse);
    if (second) check_units(recording, facts, *second, plan.peft.has_value(), problems, refuse);
}

/// Whether peft's names ask for the module: a suffix of its path.
bool names_module(const std::vector<std::string>& names, const std::string& path) {
    return std::any_of(names.begin(), names.end(),
                       [&](const std::string& name) { return path == name || path.ends_with("." + name); });
}

/// Routers that derive from nn.Linear: transformers 5.17 integrations/bitsandbytes.py replace_with_bnb_linear takes
/// nn.Linear itself alone, peft whatever is one, which has several results here.
void check_own_modules(const std::vector<network::OwnModule>& modules, const TrainPlan& plan, Problems& problems) {
    const auto refuse = [&](const char* where, const network::OwnModule& own, const char* hint) {
        problems.unsupported(where,
                             fmt::format("{} ({}) computes in its own way: adapters and quantized weights of such "
                                         "layers are not supported",
                                         own.path, own.class_name),
                             hint);
    };
    for (const network::OwnModule& own : modules) {
        if (plan.load.quantization && !own.is_linear) return refuse("load.quantization_config", own, "full training");
        if (!plan.peft) continue;
        if (!own.is_linear) return refuse("peft", own, "full training");
        const auto* names = std::get_if<std::vector<std::string>>(&plan.peft->target_modules);
        if (!names || names_module(*names, own.path))
            return refuse("peft.target_modules", own, "a list of names without it");
        if (names_module(plan.peft->modules_to_save, own.path))
            return refuse("peft.modules_to_save", own, "leave it out");
    }
}

/// What was not compared of Mamba's kin.
template <class Refuse>
void check_scans(const network::Document& recording, const network::Facts& facts, const TrainPlan& plan,
                 Problems& problems, const Refuse& refuse) {
    // transformers 5.17.0 modeling_falcon_mamba.py FalconMambaMixer.forward: a quantized network runs dt_proj itself.
    if (plan.load.quantization && (recording.model_type == "falcon_mamba" || recording.model_type == "jamba"))
        refuse("load.quantization_config", "a forward pass that asks whether the network is quantized",
               "full training, or adapters of 16-bit weights");
    // modeling_zamba.py ZambaMambaMixer.forward: a quantized projection gives back the dtype that it is given, in which
    // the states are; where that is float32 they were recorded in that of a matrix product beside it.
    if (plan.load.quantization && recording.model_type == "zamba" &&
        (plan.prepare_kbit || plan.load.dtype == DType::float32))
        refuse(plan.prepare_kbit ? "prepare_kbit" : "load.dtype", "Zamba's quantized layers with inputs in float32",
               "bfloat16 without preparation for k-bit training, or adapters of 16-bit weights");
    // modeling_mamba2.py Mamba2PreTrainedModel._init_weights divides what is packed in bytes.
    if (plan.load.quantization && recording.model_type == "mamba2" && facts.rescales_weights)
        problems.unsupported("load.quantization_config",
                             "transformers stops with quantized layers where the configuration has "
                             "rescale_prenorm_residual (result type Float can't be cast to the desired output type "
                             "Byte)",
                             "\"rescale_prenorm_residual\": false in config.json");
    // FalconMambaWeightlessRMSNorm: a buffer alone, which Module.to casts too.
    if (plan.load.upcast && recording.model_type == "falcon_mamba")
        refuse("load.upcast", "a cast of norms that have no parameter", "leave it out");
    // The head is given what has its weight's dtype, which was float32 in all recordings (5.17.0 modeling_hy_v4.py
    // HYV4ForCausalLM.forward, _keep_in_fp32_modules_strict).
    if (plan.load.upcast == UpcastParts::norms_and_embeddings && recording.model_type == "hy_v4")
        refuse("load.upcast", "a cast of a head that stays in float32", "leave it out");
    // trl 1.16.0 trainer/dpo_trainer.py asks for the logits of routers, of which small Jambas have none.
    if (recording.model_type == "jamba" && (is_preference(plan.loop.kind) || generates_rows(plan.loop.kind)))
        refuse("loop.kind", "Jamba in trl's trainers of preferences", "transformers' Trainer, or SFTTrainer");
}

/// Types whose code asks whether it is in training, as they were recorded: transformers 5.17.0 modeling_gemma3n.py
/// Gemma3nTextAltUp.correct, modeling_xlnet.py XLNetModel.forward (use_mems_eval: all layers' rows are kept),
/// modeling_dbrx.py DbrxRouter.forward, modeling_rwkv.py RwkvModel._rescale_layers.
template <class Refuse>
void check_modes(const network::Document& recording, const TrainPlan& plan, const Refuse& refuse) {
    constexpr std::pair<std::string_view, const char*> kNames[] = {
        {"gemma3n", "Gemma 3n"}, {"xlnet", "XLNet"}, {"dbrx", "DBRX"}, {"rwkv", "RWKV"}};
    const auto* const found = std::find_if(std::begin(kNames), std::end(kNames), [&](const auto& row) {
        return recording.model_type.starts_with(row.first);
    });
    if (found == std::end(kNames)) return;
    if (plan.evaluation)
        refuse("training.eval_strategy", fmt::format("{} in evaluation", found->second), "leave it out");
    if (is_preference(plan.loop.kind) && !plan.peft)
        refuse("loop.kind", fmt::format("a reference model of {}, which is not in training,", found->second),
               "an adapter");
}

/// 5.23.0 modeling_kolibri1.py Kolibri1TopKRouter.forward: without gradients, logits in float32 are made by another
/// product where rows and weight have one dtype.
template <class Refuse>
void check_gradients(const network::Document& recording, const TrainPlan& plan, const Stack& stack,
                     const Refuse& refuse) {
    if (recording.model_type != "kolibri1") return;
    constexpr const char* kWhat = "Kolibri 1's router without gradients, which then computes in another way,";
    if (plan.evaluation) refuse("training.eval_strategy", kWhat, "leave it out");
    if (is_preference(plan.loop.kind) || generates_rows(plan.loop.kind))
        refuse("loop.kind", kWhat, "transformers' Trainer, or SFTTrainer");
    const bool by_training = plan.training.gradient_checkpointing || plan.load.gradient_checkpointing;
    const PreparePlan* prepared = plan.prepare_kbit ? &*plan.prepare_kbit : nullptr;
    if (by_training ? use_reentrant_of(plan, stack).value_or(stack.checkpointing_is_reentrant())
                    : prepared && prepared->use_gradient_checkpointing && prepared->use_reentrant.value_or(true))
        refuse(by_training ? "training.gradient_checkpointing_kwargs" : "prepare_kbit.gradient_checkpointing_kwargs",
               kWhat, "\"use_reentrant\": false");
}

/// 5.17.0 modeling_xlnet.py XLNetRelativeAttention: parameters that are float32 whatever is asked for
/// (torch.FloatTensor).
void check_dtype(const network::Document& recording, const TrainPlan& plan, Problems& problems) {
    if (recording.model_type != "xlnet" || plan.load.dtype == DType::float32) return;
    problems.unsupported("load.dtype",
                         plan.training.bf16 || plan.training.fp16
                             ? "XLNet with weights of 16 bits was not compared with recorded networks yet"
                             : "transformers stops with XLNet in 16 bits, parts of which stay in float32 (expected "
                               "scalar type BFloat16 but found Float)",
                         "float32");
}

/// 5.17.0 integrations/sdpa_attention.py create_position_bias_mask: a position bias of 16 bits is filled with the least
/// number of the keys' dtype, which Inkling's norm of keys gives its own.
void check_position_bias(const network::Document& recording, const TrainPlan& plan, Problems& problems) {
    const bool is_sdpa = plan.load.attention == AttentionImplementation::sdpa;
    if (recording.model_type != "inkling_text" || !is_sdpa || !(plan.training.bf16 || plan.training.fp16)) return;
    if (plan.load.dtype != DType::float32 && !(plan.load.quantization && plan.prepare_kbit)) return;
    problems.unsupported(plan.training.bf16 ? "training.bf16" : "training.fp16",
                         "transformers stops with Inkling's norms in float32 under autocast (value cannot be converted "
                         "to type c10::BFloat16 without overflow)",
                         "weights of 16 bits, not prepared for k-bit training");
}

void check_flash_attention(const network::Document& recording, const TrainPlan& plan, Problems& problems) {
    constexpr const char* kHint = "sdpa or eager, if the network has it";
    if (std::string why = network::refusal_of_flash_attention(recording); !why.empty())
        problems.unsupported("load.attn_implementation", std::move(why), kHint);
    else if (is_preference(plan.loop.kind) || generates_rows(plan.loop.kind))
        problems.unsupported("load.attn_implementation",
                             "flash_attention_2 with rows of preferences was not compared with recorded networks yet",
                             kHint);
}

/// axolotl-ai-cloud/ml-cross-entropy 5f0c7a7 transformers/patch.py PATCH_FNS: types of whose forward the loss is all
/// that is replaced. Others scale hidden states or logits, or cap these.
void check_cut_loss(const network::Document& recording, const TrainPlan& plan, Problems& problems) {
    constexpr std::string_view kPlain[] = {
        "apertus", "deepseek_v2",   "deepseek_v3",    "exaone4",          "glm",        "glm4_moe",
        "lfm2",    "lfm2_moe",      "ministral",      "ministral3",       "mistral3",   "olmo",
        "olmo3",   "glm4_moe_lite", "hunyuan_v1_moe", "hunyuan_v1_dense", "exaone_moe", "qwen3_5_text"};
    const auto refuse = [&](std::string what) {
        problems.unsupported("training.cut_cross_entropy", std::move(what), "leave it out");
    };
    if (!recording.of_type || std::find(std::begin(kPlain), std::end(kPlain), recording.model_type) == std::end(kPlain))
        refuse(
            fmt::format("cut cross entropy of {} was not compared with recorded networks yet", recording.model_type));
    else if (plan.loop.kind != LoopKind::trainer)
        refuse("cut cross entropy was compared with recorded networks in transformers' Trainer only");
}

void check_liger_patches(const network::Document& recording, Problems& problems) {
    const auto refuse = [&](std::string what) {
        problems.unsupported("training.use_liger_kernel", std::move(what), "leave it out");
    };
    if (!recording.of_type || !network::has_liger_patches(recording.model_type))
        refuse(fmt::format("Liger's kernels of {} were not compared with recorded networks yet", recording.model_type));
    else if (network::has_experts(recording))
        refuse("Liger's kernels of a mixture of experts were not compared with recorded networks yet");
}

/// How far the network was checked, and what of a run was assumed.
void note_recording(const network::Document& recording, const network::Facts& facts, Notes& notes) {
    notes.push_back({NoteKind::recorded_network,
                     recording.of_type
                         ? fmt::format("the network is made of the recording of its type ({}, transformers {})",
                                       recording.model_type, recording.transformers)
                         : fmt::format("the network is a recording of transformers {}, which was not compared with a "
                                       "trace",
                                       recording.transformers),
                     recording.of_type ? "vramfit models types says how far the type was checked"
                                       : "docs/howto/own-network.md says how far recordings were checked"});
    if (facts.has_towers)
        notes.push_back({NoteKind::recorded_network,
                         "rows of text are predicted: the towers for images or sound take memory, and adapters where "
                         "target_modules names their layers, but no row goes through them",
                         "rows with images need more"});
    if (facts.calls_packages)
        notes.push_back(
            {NoteKind::recorded_network,
             "transformers' own PyTorch code for convolutions and linear attention is predicted, as it runs "
             "without flash-linear-attention, causal-conv1d and mamba-ssm, whose kernels need other memory",
             "leave the packages out of the environment"});
    if (recording.model_type == "rwkv")  // 5.17.0 modeling_rwkv.py load_wkv_cuda_kernel
        notes.push_back({NoteKind::recorded_network,
                         "transformers' own loop over tokens is predicted, as it runs without the package kernels, "
                         "whose kernel needs other memory",
                         "leave the package out of the environment"});
    if (facts.asks_experts_one_by_one)
        notes.push_back({NoteKind::recorded_network,
                         "each expert of this network computes by itself, for the tokens that chose it: equally many "
                         "are assumed, and a router that prefers some experts needs more",
                         "measure such a run"});
}

}  // namespace

void check_recording(const ModelSpec& model, const network::Facts& facts, const TrainPlan& plan, const Stack& stack,
                     Problems& problems, Notes& notes) {
    const network::Document& recording = *model.recording;
    network::check_release(recording, stack, problems, notes);
    note_recording(recording, facts, notes);
    // Networks with towers have a configuration of its own for the text part; what switches the cache off is the
    // whole's alone (5.17.0 trainer.py Trainer.__init__). trl says it with every call.
    const bool by_config =
        (plan.loop.kind == LoopKind::trainer && !hands_cache_on(model.model_type)) || plan.loop.kind == LoopKind::plain;
    if (facts.has_text_config && by_config && model.use_cache && (!plan.checkpoints() || plan.evaluation))
        problems.unsupported(
            "training.gradient_checkpointing",
            "without checkpointing, and in evaluation, the text part keeps the keys and values of all layers until the "
            "loss is there, as its own configuration has use_cache, which was not recorded",
            "gradient_checkpointing true without evaluation, \"use_cache\": false in text_config, or trl's trainers");
    const auto refuse = [&](const char* where, std::string what, const char* hint) {
        problems.unsupported(where, fmt::format("{} was not compared with recorded networks yet", what), hint);
    };
    check_scans(recording, facts, plan, problems, refuse);
    check_modes(recording, plan, refuse);
    check_gradients(recording, plan, stack, refuse);
    check_dtype(recording, plan, problems);
    check_position_bias(recording, plan, problems);
    if (plan.distributed) check_processes(recording, facts, plan, problems, refuse);
    if (plan.loop.kind == LoopKind::sft) check_balancing(recording, plan, stack, problems, refuse);
    if (plan.load.resize_token_embeddings)
        refuse("load.resize_token_embeddings", "a vocabulary of another size", "record the network with that size");
    if (plan.training.use_liger_kernel && has_liger(recording.model_type)) check_liger_patches(recording, problems);
    if (plan.training.cut_cross_entropy) check_cut_loss(recording, plan, problems);
    if (plan.load.attention == AttentionImplementation::flash_attention_2)
        check_flash_attention(recording, plan, problems);
    if (!recording.conversion.empty())
        problems.unsupported(
            "model",
            fmt::format("the loader converts the checkpoint of {}: {}", model.model_type, recording.conversion),
            "networks whose checkpoints have the network's own names can be asked about");
    const bool is_prepared = plan.load.quantization && plan.prepare_kbit;
    if (is_prepared && plan.load.upcast == UpcastParts::norms_and_embeddings)
        for (const auto& [type, name] : {std::pair{"falcon", "Falcon"}, std::pair{"bamba", "Bamba"}})
            if (recording.model_type == type)
                refuse("load.upcast", fmt::format("a cast of {}'s embeddings before they are prepared", name),
                       "\"norms\"");
    // Embeddings are found by a part of their name, which Phi-4-multimodal's towers have too (embed_tokens_extend).
    if (recording.model_type == "phi4_multimodal" && plan.load.upcast == UpcastParts::norms_and_embeddings)
        refuse("load.upcast", "a cast of towers among the embeddings", "\"norms\"");
    // trl 1.16.0 trainer/utils.py _fused_forward: the decoder is what base_model_prefix names, "language_model", which
    // Llama4ForCausalLM has not.
    if (recording.model_type == "llama4_text" && plan.loop.kind == LoopKind::sft)
        problems.unsupported("loop.kind", "trl's SFTTrainer stops with the text part of Llama 4 (no last_hidden_state)",
                             "transformers' Trainer");
    if (recording.model_type == "llama4_text" && plan.peft && !plan.peft->target_parameters.empty())
        refuse("peft.target_parameters", "an adapter on Llama 4's experts, which are stored the other way round,",
               "names of linear layers");
    // 5.17.0 modeling_xglm.py XGLMAttention.forward: another softmax for scores in float16.
    if (recording.model_type == "xglm" && (plan.load.dtype == DType::float16 || plan.training.fp16))
        refuse(plan.training.fp16 ? "training.fp16" : "load.dtype", "XGLM in float16", "bfloat16");
    check_recorded_layers(recording, facts, plan, stack, problems);
    if (!network::bias_of_head(recording).empty() && plan.peft && !plan.peft->modules_to_save.empty())
        refuse("peft.modules_to_save", "a copy of modules beside a bias that the head shares", "leave it out");
    check_own_modules(facts.own_modules, plan, problems);
}

}  // namespace vramfit
