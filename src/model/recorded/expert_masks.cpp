// transformers 5.16.1, 5.17.0 and 5.19.0 integrations/moe.py grouped_mm_experts_forward.
#include "model/recorded/expert_masks.hpp"

#include <string_view>

namespace vramfit::model {

ExpertMasks::ExpertMasks(const std::optional<Version>& recorded, const Stack& stack) {
    if (!recorded || recorded->major != 5 || recorded->minor != 17) return;
    never_ = !stack.experts_always_mask();
    at_end_ = !never_ && !stack.experts_mask_each_product();
}

ExpertMasks::Step ExpertMasks::step(const network::Call& call) {
    constexpr int kProducts = 2;
    const std::string_view name = call.function;
    const auto first = [&]() -> network::Number { return call.arguments.front().value; };
    if (never_) {
        const bool makes_mask = name == "torch.Tensor.ge" || (name == "torch.Tensor.unsqueeze" && first() == mask_);
        if (makes_mask) mask_ = *call.results.front().value;
        if (makes_mask || name == "torch.Tensor.clamp_") return Step::skip;
        return name.starts_with("torch.Tensor.masked_fill") ? Step::pass_on : Step::run;
    }
    if (!at_end_) return Step::run;
    if (name == "torch.Tensor.masked_fill") {
        mask_ = call.arguments.at(1).value;
        ++products_;
        return Step::pass_on;
    }
    if (name != "torch.Tensor.mul" || products_ != kProducts) return Step::run;
    products_ = 0;
    return Step::run_then_mask;
}

}  // namespace vramfit::model
