// Why a quantized network is not as small as one expects.
#include <set>

#include <fmt/format.h>

#include "spec/network/model.hpp"
#include "spec/plan_check_parts.hpp"
#include "vramfit/base/checked.hpp"
#include "vramfit/spec/config.hpp"
#include "vramfit/spec/modules.hpp"
#include "vramfit/spec/sizes.hpp"

namespace vramfit {

std::int64_t unquantized_parameters(const ModelSpec& model) {
    std::set<std::string> derived;
    if (model.recording) derived = network::derived_linear_layers(*model.recording);
    std::int64_t sum = model.recording ? network::parameters_of_experts(*model.recording) : 0;
    if (!model.mixture && derived.empty()) return sum;
    for (const NamedModule& module : modules_of(model))
        if ((model.mixture && !model.recording && module.part == ModulePart::experts) || derived.contains(module.name))
            sum = checked_add(sum, parameters_in(module));
    return sum;
}

namespace {

bool is_prepared(const TrainPlan& plan, const Stack& stack) {
    return plan.prepare_kbit || (plan.loop.kind == LoopKind::sft && stack.sft_prepares_model());
}

/// How much it is, and what preparation makes of it.
std::string size_text(const TrainPlan& plan, const Stack& stack, std::int64_t parameters) {
    std::string text = fmt::format("{} in {}", text_of(size_of(parameters, plan.load.dtype)), name_of(plan.load.dtype));
    if (is_prepared(plan, stack) && plan.load.dtype != DType::float32)
        text += fmt::format("; prepare_model_for_kbit_training then makes them float32, {}",
                            text_of(size_of(parameters, DType::float32)));
    return text;
}

std::string hint_for(const TrainPlan& plan, const Stack& stack) {
    return is_prepared(plan, stack) ? "without the preparation they stay as they are: --prepare-kbit false"
                                    : "plain LoRA takes little more: --method lora";
}

}  // namespace

// bitsandbytes quantizes what transformers' replace_with_bnb_linear finds (integrations/bitsandbytes.py of 5.17.0):
// modules whose type is nn.Linear itself, and Conv1D. peft 0.21.2, utils/other.py prepare_model_for_kbit_training:
// every parameter in 16 bits that is no Params4bit becomes float32.
void note_not_quantized(const ModelSpec& model, const TrainPlan& plan, const Stack& stack, std::int64_t parameters,
                        Notes& notes) {
    if (parameters == 0) return;
    const std::string size = size_text(plan, stack, parameters);
    if (network::has_experts(model))
        notes.push_back(
            {NoteKind::experts_not_quantized,
             fmt::format("bitsandbytes quantizes linear layers only: the experts of this model are not, and take {}",
                         size),
             hint_for(plan, stack)});
    else
        notes.push_back({NoteKind::without_effect,
                         fmt::format("transformers quantizes layers whose class is nn.Linear itself: this model's are "
                                     "of its own class {}, stay as they are, and take {}",
                                     network::derived_linear_class(*model.recording), size),
                         hint_for(plan, stack)});
}

}  // namespace vramfit
