// LoRA whose layers are other ones: BD-LoRA and KaSA (peft 0.21.2, tuners/lora/variants.py and layer.py lora_variants).
#include <algorithm>

#include <fmt/format.h>

#include "spec/adapters/read.hpp"

namespace vramfit {

namespace {

bool holds_any(std::string_view module, const std::vector<std::string>& words) {
    return std::any_of(words.begin(), words.end(),
                       [&](const std::string& word) { return module.find(word) != std::string_view::npos; });
}

/// BdLoraLinearVariant.init and BlockDiagonalLinear.__init__.
void check_blocks_of(const BlockDiagonal& blocks, const LoraTarget& target, Problems& problems) {
    const NamedModule& module = target.module;
    const bool of_a = holds_any(module.name, blocks.of_a), of_b = holds_any(module.name, blocks.of_b);
    if (of_a && of_b)
        return problems.invalid(
            "peft.use_bdlora",
            fmt::format("peft stops: Target {} matches both A and B block-diagonal patterns", module.name),
            "name it in one of the lists");
    if (!of_a && !of_b && blocks.strict)
        return problems.invalid(
            "peft.use_bdlora",
            fmt::format("peft stops: Target {} matches neither A nor B block-diagonal patterns", module.name),
            "name it in one of the lists, or match_strict: false");
    if (!of_a && !of_b) return;
    const std::int64_t in = of_a ? module.in : target.r, out = of_a ? target.r : module.out;
    if (in % blocks.blocks != 0 || out % blocks.blocks != 0)
        problems.invalid("peft.use_bdlora.nblocks",
                         fmt::format("{} of {} x {} of '{}' does not divide by {} (peft)", of_a ? "A" : "B", out, in,
                                     module.name, blocks.blocks),
                         "a divisor of both");
    // `result += ...` changes a view there, whose history is another one.
    if (module.bias)
        problems.unsupported("peft.use_bdlora",
                             fmt::format("BD-LoRA of '{}', which has a bias, is not supported", module.name),
                             "modules without a bias");
}

}  // namespace

InBlocks which_in_blocks(const BlockDiagonal& blocks, std::string_view module) {
    const bool of_a = holds_any(module, blocks.of_a);
    return {of_a, !of_a && holds_any(module, blocks.of_b)};
}

// tuners/lora/layer.py pissa_init, olora_init.
bool takes_weights_apart(const LoraPlan& plan) {
    return plan.kasa || plan.init_lora_weights.starts_with("pissa") || plan.init_lora_weights == "olora" ||
           facts_of(plan.kind).takes_apart;
}

std::string_view title_of(const LoraPlan& plan) {
    if (plan.block_diagonal) return "BD-LoRA";
    return plan.kasa ? "KaSA" : facts_of(plan.kind).title;
}

void check_variant(const LoraPlan& plan, const std::vector<LoraTarget>& targets, Problems& problems) {
    const std::string_view title = title_of(plan);
    const std::string_view where = plan.block_diagonal ? "peft.use_bdlora" : "peft.kasa_config";
    if ((plan.block_diagonal && plan.kasa) || plan.use_dora)
        return problems.invalid(where, "peft takes one variant of LoRA at a time", "leave the others out");
    const auto refuse = [&](bool given, std::string_view with) {
        if (given)
            problems.unsupported(where, fmt::format("{} with {} is not supported", title, with),
                                 "leave one of them out");
    };
    refuse(plan.lora_bias, "lora_bias");
    refuse(!plan.options.token_indices.empty(), "trained tokens");
    for (const LoraTarget& target : targets) {
        const NamedModule& module = target.module;
        const bool is_plain = target.parameter.empty() && module.kind == ModuleKind::linear && module.layer >= 0;
        refuse(!is_plain, fmt::format("'{}'", module.name));
        if (plan.kasa && target.r >= std::min(module.in, module.out))
            problems.invalid("peft.r",
                             fmt::format("{} is not below the smaller side of '{}', {} x {} (peft)", target.r,
                                         module.name, module.in, module.out),
                             "a smaller one");
        if (plan.block_diagonal) check_blocks_of(*plan.block_diagonal, target, problems);
        if (!problems.none()) return;
    }
}

}  // namespace vramfit
