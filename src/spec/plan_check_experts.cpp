// Why a quantized mixture of experts is not as small as one expects.
#include <fmt/format.h>

#include "spec/plan_check_parts.hpp"
#include "vramfit/base/checked.hpp"
#include "vramfit/spec/config.hpp"
#include "vramfit/spec/modules.hpp"
#include "vramfit/spec/sizes.hpp"

namespace vramfit {

std::int64_t expert_parameters(const ModelSpec& model) {
    std::int64_t sum = 0;
    for (const NamedModule& module : modules_of(model))
        if (module.part == ModulePart::experts) sum = checked_add(sum, parameters_in(module));
    return sum;
}

// bitsandbytes quantizes what transformers' replace_with_bnb_linear finds (integrations/bitsandbytes.py): modules of
// type nn.Linear and Conv1D. peft 0.21.2, utils/other.py prepare_model_for_kbit_training: every parameter in 16 bits
// that is no Params4bit becomes float32.
void note_experts(const TrainPlan& plan, const Stack& stack, std::int64_t experts, Notes& notes) {
    if (experts == 0) return;
    const bool prepared = plan.prepare_kbit || (plan.loop.kind == LoopKind::sft && stack.sft_prepares_model());
    std::string text =
        fmt::format("bitsandbytes quantizes linear layers only: the experts of this model are not, and take {} in {}",
                    text_of(size_of(experts, plan.load.dtype)), name_of(plan.load.dtype));
    if (prepared && plan.load.dtype != DType::float32)
        text += fmt::format("; prepare_model_for_kbit_training then makes them float32, {}",
                            text_of(size_of(experts, DType::float32)));
    notes.push_back({NoteKind::experts_not_quantized, std::move(text),
                     prepared ? "without the preparation they stay as they are: --prepare-kbit false"
                              : "plain LoRA takes little more: --method lora"});
}

}  // namespace vramfit
