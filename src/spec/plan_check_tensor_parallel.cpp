// What transformers refuses of tensor parallelism, what was not compared, and models that it does not cut.
#include <fmt/format.h>

#include "spec/network/rewritten/tensor_parallel.hpp"
#include "spec/plan_check_parts.hpp"

namespace vramfit {

void check_tensor_parallel(const TrainPlan& plan, const Stack& stack, Problems& problems) {
    const auto refuse = [&](const char* where, std::string what, const char* hint) {
        problems.unsupported(where, std::move(what), hint);
    };
    if (!stack.tensor_parallelism_is_known())
        refuse("distributed", "tensor parallelism is supported with torch 2.11, accelerate 1.15 and transformers 5.17",
               "choose the stack hf-2026-11");
    // modeling_utils.py from_pretrained, distributed/utils.py initialize_tensor_parallelism.
    if (plan.distributed->load_on_device)
        problems.invalid("distributed.load_on_device",
                         "transformers stops: \"`tp_plan` and `device_map` are mutually exclusive\"", "leave it out");
    // quantizers/quantizer_bnb_4bit.py, quantizer_bnb_8bit.py update_device_map give one.
    if (plan.load.quantization)
        problems.invalid(
            "load.quantization_config",
            "transformers stops: bitsandbytes' weights need a device_map (\"`tp_plan` and `device_map` are "
            "mutually exclusive\")",
            "train without, or with DistributedDataParallel");
    if (plan.load.resize_token_embeddings)
        problems.invalid("load.resize_token_embeddings",
                         "torch stops: a new head takes rows of one that is cut (aten.copy_ got mixed torch.Tensor and "
                         "DTensor)",
                         "leave it out");
    if (plan.training.use_liger_kernel && plan.loop.kind == LoopKind::sft)
        problems.unsupported("training.use_liger_kernel",
                             "Liger's kernels of SFTTrainer were not compared with tensor parallelism yet",
                             "leave it out");
    else if (plan.training.use_liger_kernel)
        problems.invalid("training.use_liger_kernel",
                         "torch stops: Liger's loss takes a head that is cut (aten.mm.out got mixed torch.Tensor and "
                         "DTensor)",
                         "leave it out");
    check_trainer_arguments(plan.training, "tensor parallelism", problems);
}

namespace {

enum class Uncut : std::uint8_t { nothing, all, all_but_the_head };

// transformers 5.17: configuration_*.py without base_model_tp_plan, modeling_*.py with or without _tp_plan.
Uncut uncut_of(const ModelSpec& model) {
    if (!model.recording) {
        if (model.model_type == "gpt_oss") return Uncut::all_but_the_head;
        return model.model_type == "gpt2" || model.model_type == "nemotron" ? Uncut::all : Uncut::nothing;
    }
    if (model.recording->tensor_parallel_plan.empty()) return Uncut::all;
    return network::cuts_layers(*model.recording) ? Uncut::nothing : Uncut::all_but_the_head;
}

}  // namespace

void note_uncut(const ModelSpec& model, const TrainPlan& plan, Notes& notes) {
    if (!plan.distributed || !plan.distributed->as<TpPlan>()) return;
    const Uncut uncut = uncut_of(model);
    if (uncut == Uncut::nothing) return;
    notes.push_back({NoteKind::without_effect,
                     uncut == Uncut::all_but_the_head
                         ? fmt::format("transformers' plan for {} cuts the head alone: each process has all layers",
                                       model.model_type)
                         : fmt::format("transformers has no plan for {}: nothing is cut, and each process trains "
                                       "all of it",
                                       model.model_type),
                     "FSDP or ZeRO"});
}

}  // namespace vramfit
