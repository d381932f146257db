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
    {AdapterKind::prompt_tuning, "PROMPT_TUNING", "prompt_tuning", "prompt tuning", "", 1, true, true, true},
    {AdapterKind::p_tuning, "P_TUNING", "p_tuning", "P-tuning", "", 1, true, true, true},
    {AdapterKind::prefix_tuning, "PREFIX_TUNING", "prefix_tuning", "prefix tuning", "", 1, true, true, true},
    {AdapterKind::trainable_tokens, "TRAINABLE_TOKENS", "trainable_tokens", "trainable tokens", "", 1, true, true},
    {AdapterKind::road, "ROAD", "road", "RoAd", "", 1, true, false},
    {AdapterKind::randlora, "RANDLORA", "randlora", "RandLoRA", "r", 32, true, false},
    {AdapterKind::vblora, "VBLORA", "vblora", "VB-LoRA", "r", 4, false, false},
    {AdapterKind::delora, "DELORA", "delora", "DeLoRA", "r", 8, false, false},
    {AdapterKind::gralora, "GRALORA", "gralora", "GraLoRA", "r", 32, false, true},
    {AdapterKind::pvera, "PVERA", "pvera", "PVeRA", "r", 256, true, true},
    {AdapterKind::unilora, "UNILORA", "unilora", "UniLoRA", "r", 4, true, true},
    {AdapterKind::lily, "LILY", "lily", "Lily", "r", 32, true, false},
    {AdapterKind::glora, "GLORA", "glora", "GLoRA", "r", 8, false, false},
    {AdapterKind::deft, "DEFT", "deft", "DEFT", "r", 8, false, true},
    {AdapterKind::beft, "BEFT", "beft", "BEFT", "", 1, true, false},
    {AdapterKind::hira, "HIRA", "hira", "HiRA", "r", 32, false, true},
    {AdapterKind::supertuning, "SUPERTUNING", "supertuning", "Super-Tuning", "", 1, false, false},
    {AdapterKind::peanut, "PEANUT", "peanut", "PEANuT", "r", 32, false, false},
    {AdapterKind::adaption_prompt, "ADAPTION_PROMPT", "adaption_prompt", "adaption prompt", "", 1, true, true},
    {AdapterKind::tinylora, "TINYLORA", "tinylora", "TinyLoRA", "r", 2, false, true, false, true},
    {AdapterKind::psoft, "PSOFT", "psoft", "PSOFT", "r", 32, false, false, false, true},
    {AdapterKind::osf, "OSF", "osf", "OSF", "", 1, false, false, false, true},
    {AdapterKind::cartridge, "CARTRIDGE", "cartridge", "a cartridge", "", 1, true, true, true},
};

/// Why a kind is not predicted: what shows on a GPU only, or what it needs beside the network and rows of text.
struct NotPredicted {
    std::string_view name;
    std::string_view why;
};
constexpr NotPredicted kNotPredicted[] = {
    {"boft", "its rotations solve linear systems by cuSOLVER, whose scratch shows on a GPU only"},
    {"c3a", "it transforms by cuFFT, whose scratch shows on a GPU only"},
    {"fourierft", "it transforms by cuFFT, whose scratch shows on a GPU only"},
    {"adamss", "it puts the rows of the layers' weights into clusters, whose sizes nobody knows before"},
    {"waveft", "cuDNN runs its wavelet transform, and its scratch shows on a GPU only"},
    {"frod", "its sparse matrices are put in order on the GPU, which says how many entries they have"},
    {"shira", "its sparse matrices are put in order on the GPU, which says how many entries they have"},
    {"poly", "each row has to name its task (task_ids), which rows of text do not"},
    {"multitaskprompttuning", "each row has to name its task (task_ids), which rows of text do not"},
    {"cpt", "the host asks the GPU which of its tokens have changed and which tokens of a row are scored"},
    {"xlora", "it mixes adapters that were trained before, in a second pass through the network"},
    {"shadow", "it trains a second network that runs beside the layers of the first one"},
};

/// In small letters, without underscores.
std::string bare_name(std::string_view word) {
    std::string out = lower_case(word);
    std::erase(out, '_');
    return out;
}

}  // namespace

std::span<const AdapterKindFacts> adapter_kinds() { return kKinds; }

const AdapterKindFacts& facts_of(AdapterKind kind) { return kKinds[static_cast<std::size_t>(kind)]; }

std::string known_peft_types() {
    std::vector<std::string_view> names;
    for (const AdapterKindFacts& facts : kKinds) names.push_back(facts.peft_type);
    return fmt::format("{}", fmt::join(names, ", "));
}

const AdapterKindFacts* find_adapter_kind(std::string_view name) {
    const std::string wanted = bare_name(name);
    const auto found = std::find_if(std::begin(kKinds), std::end(kKinds),
                                    [&](const AdapterKindFacts& facts) { return bare_name(facts.name) == wanted; });
    return found == std::end(kKinds) ? nullptr : &*found;
}

std::string why_not_predicted(std::string_view name) {
    const std::string wanted = bare_name(name);
    const auto* const found = std::find_if(std::begin(kNotPredicted), std::end(kNotPredicted),
                                           [&](const NotPredicted& kind) { return kind.name == wanted; });
    return found == std::end(kNotPredicted) ? "" : fmt::format(": {}", found->why);
}

}  // namespace vramfit
