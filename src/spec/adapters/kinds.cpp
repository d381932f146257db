// The table of kinds of adapters (peft 0.21.2, utils/peft_types.py PeftType, tuners/*/config.py).
#include <algorithm>

#include <fmt/format.h>

#include "spec/adapters/read.hpp"
#include "vramfit/spec/adapter_kind.hpp"
#include "vramfit/spec/suggest.hpp"

namespace vramfit {

namespace {

constexpr AdapterKindFacts kKinds[] = {
    {AdapterKind::lora, "LORA", "lora", "LoRA", "r", 8, true, true},
    {AdapterKind::ia3, "IA3", "ia3", "IA3", "", 1, true, true},
    {AdapterKind::loha, "LOHA", "loha", "LoHa", "r", 8, false, false},
    {AdapterKind::lokr, "LOKR", "lokr", "LoKr", "r", 8, false, false},
    {AdapterKind::vera, "VERA", "vera", "VeRA", "r", 256, true, true},
    {AdapterKind::oft, "OFT", "oft", "OFT", "", 1, true, false},
    {AdapterKind::adalora, "ADALORA", "adalora", "AdaLoRA", "init_r", 12, true, true},
    {AdapterKind::ln_tuning, "LN_TUNING", "ln_tuning", "LN tuning", "", 1, true, true},
    {AdapterKind::hra, "HRA", "hra", "HRA", "r", 8, false, false},
    {AdapterKind::miss, "MISS", "miss", "MiSS", "r", 64, true, false},
};

}  // namespace

std::span<const AdapterKindFacts> adapter_kinds() { return kKinds; }

const AdapterKindFacts& facts_of(AdapterKind kind) { return kKinds[static_cast<std::size_t>(kind)]; }

std::string known_peft_types() {
    std::vector<std::string_view> names;
    for (const AdapterKindFacts& facts : kKinds) names.push_back(facts.peft_type);
    return fmt::format("{}", fmt::join(names, ", "));
}

const AdapterKindFacts* find_adapter_kind(std::string_view name) {
    const auto plain = [](std::string_view word) {
        std::string out = lower_case(word);
        std::erase(out, '_');
        return out;
    };
    const std::string wanted = plain(name);
    const auto found = std::find_if(std::begin(kKinds), std::end(kKinds),
                                    [&](const AdapterKindFacts& facts) { return plain(facts.name) == wanted; });
    return found == std::end(kKinds) ? nullptr : &*found;
}

}  // namespace vramfit
