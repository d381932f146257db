// Categories of memory in the words of someone who fine-tunes.
#include "report/category_words.hpp"

#include <fmt/format.h>

#include "spec/network/model.hpp"

namespace vramfit::report {

namespace {

bool is_eight_bit(const TrainPlan& plan) {
    return plan.load.quantization && plan.load.quantization->method == QuantMethod::int8;
}

std::string weights(const Prediction& p) {
    const LoadPlan& load = p.plan.load;
    const auto dtype = load.cast_after_adapter.value_or(load.dtype);
    if (!load.quantization) return fmt::format("weights ({})", name_of(dtype));
    const char* bits = is_eight_bit(p.plan) ? "8-bit" : "4-bit";
    // bitsandbytes replaces linear layers alone: the experts' parameters stay what they were.
    if (network::has_experts(p.model))
        return fmt::format("weights ({}; experts {})", bits, p.plan.prepare_kbit ? "float32" : name_of(dtype));
    // The same of linear layers of a class of the model's own.
    if (p.model.recording && !network::derived_linear_class(*p.model.recording).empty())
        return fmt::format("weights ({})", p.plan.prepare_kbit ? "float32" : name_of(dtype));
    return fmt::format("weights ({})", bits);
}

std::string optimizer_states(const TrainPlan& plan) {
    const auto* zero = plan.distributed ? plan.distributed->as<ZeroPlan>() : nullptr;
    if (zero && zero->own_optimizer) return "optimizer states (DeepSpeed)";
    return fmt::format("optimizer states ({})", plan.training.optim);
}

std::string adapters(const TrainPlan& plan) {
    return fmt::format("{} adapters", plan.peft ? facts_of(plan.peft->kind).title : "LoRA");
}

}  // namespace

std::string words_of(Category category, const Prediction& p) {
    switch (category) {
        case Category::weights: return weights(p);
        case Category::quantization_state: return "scales of quantized weights";
        case Category::adapters: return adapters(p.plan);
        case Category::gradients: return "gradients";
        case Category::optimizer_states: return optimizer_states(p.plan);
        case Category::stored_activations: return "activations kept for the backward pass";
        case Category::recomputed_activations: return "activations recomputed by checkpointing";
        case Category::logits_and_loss: return "logits and loss";
        case Category::temporaries: return "temporary tensors";
        case Category::workspaces: return "cuBLAS workspaces";
        case Category::activation_gradients: return "gradients of activations";
        case Category::dequantized_weights: return "a quantized weight, unpacked for use";
        case Category::reward_models: return p.plan.reward_models.size() > 1 ? "reward models" : "reward model";
        case Category::teacher: return "teacher";
        case Category::unattributed: break;
    }
    return "not attributed";
}

std::string words_of_method(const TrainPlan& plan) {
    if (!plan.peft) return plan.load.quantization ? "a quantized model without adapters" : "full fine-tuning";
    const std::string adapters(plan.peft->use_dora ? "DoRA" : facts_of(plan.peft->kind).title);
    if (!plan.load.quantization) return adapters;
    if (is_eight_bit(plan)) return fmt::format("{} over an 8-bit base", adapters);
    if (plan.peft->kind != AdapterKind::lora) return fmt::format("{} over a 4-bit base", adapters);
    return fmt::format("Q{}", adapters);
}

}  // namespace vramfit::report
