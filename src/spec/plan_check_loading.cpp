// Where the threads of transformers' loader race with the main one, so that how high `load` goes is not settled.
#include <fmt/format.h>

#include "spec/plan_check_parts.hpp"
#include "vramfit/spec/config.hpp"
#include "vramfit/spec/plan_check.hpp"
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
