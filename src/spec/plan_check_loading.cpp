// Where the threads of transformers' loader race with the main one, so that how high `load` goes is not settled.
#include <fmt/format.h>

#include "spec/plan_check_parts.hpp"
#include "vramfit/spec/config.hpp"
#include "vramfit/spec/plan_check.hpp"
#include "vramfit/spec/plan_names.hpp"
#include "vramfit/spec/sizes.hpp"

namespace vramfit {

namespace {

// transformers 5.0 to 5.3 core_model_loading.py: four threads read while the main one quantizes. Pull request 44576,
// which ended it, has 13.47 GiB reserved where the weights have 14.2 GiB in 16 bits.
void note_quantized(const ModelSpec& model, const TrainPlan& plan, Notes& notes) {
    const Bytes all = size_of(total_parameters(model), plan.load.dtype);
    notes.push_back({NoteKind::load_order_varies,
                     fmt::format("this version of transformers reads weights while others are quantized: load may go "
                                 "as high as {}, all weights before quantization",
                                 text_of(all)),
                     "HF_DEACTIVATE_ASYNC_LOAD=1 (--async-load false), or transformers 5.4 or later"});
}

/// Checkpoints of gpt_oss have them as the network does.
bool merges_experts(const ModelSpec& model) { return model.mixture && model.model_type != "gpt_oss"; }

bool reads_to_device(const TrainPlan& plan) {
    if (!plan.distributed || plan.loop.kind == LoopKind::unsloth) return plan.load.on_device;
    return plan.distributed->load_on_device || plan.distributed->as<TpPlan>();
}

}  // namespace

void check_mover(const TrainPlan& plan, Problems& problems) {
    const LoadPlan& load = plan.load;
    if (!load.moved_by_trainer) return;
    const auto where = "load.moved_by";
    if (load.quantization)
        return problems.invalid(where, "bitsandbytes quantizes on the GPU, where from_pretrained puts the network",
                                "leave it out");
    if (load.on_device)
        return problems.invalid(where, "the network is loaded onto the GPU", "\"device_map\": null beside it");
    const auto refuse = [&](bool given, std::string_view with, std::string_view hint) {
        if (given)
            problems.unsupported(where, fmt::format("a network that Trainer moves is not supported with {}", with),
                                 std::string(hint));
    };
    refuse(plan.distributed.has_value(), "several processes, which always do it", "leave it out");
    refuse(plan.loop.kind != LoopKind::trainer && plan.loop.kind != LoopKind::sft,
           fmt::format("the loop {}", name_of(plan.loop.kind)), "trainer or sft");
    refuse(load.upcast || load.cast_after_adapter || plan.trl_casting_to_bf16, "casts of the whole network",
           "leave them out");
    refuse(load.num_labels > 0, "a head of labels", "a language model");
}

Bytes most_of_load(const ModelSpec& model, const TrainPlan& plan, const Stack& stack) {
    const bool races = !plan.load.without_threads && stack.loader_converts_tensors() && plan.load.quantization &&
                       stack.loader_runs_ahead_of_quantizer();
    return races ? size_of(total_parameters(model), plan.load.dtype) : Bytes{};
}

void note_race(const ModelSpec& model, const TrainPlan& plan, const Stack& stack, Notes& notes) {
    if (plan.load.without_threads || !stack.loader_converts_tensors()) return;
    if (plan.load.quantization && stack.loader_runs_ahead_of_quantizer()) note_quantized(model, plan, notes);
    if (!plan.load.quantization && reads_to_device(plan) && merges_experts(model))
        notes.push_back({NoteKind::load_order_varies,
                         "transformers reads experts while others are put together, in threads that race: load is "
                         "what it takes where all are read first",
                         "HF_DEACTIVATE_ASYNC_LOAD=1 (--async-load false) reads each when its turn comes"});
}

}  // namespace vramfit
