// The table of keys that configurations of adapters share (peft 0.21.2, tuners/*/config.py).
#include "spec/adapters/keys.hpp"

#include <algorithm>
#include <stdexcept>

namespace vramfit {

namespace {

using Names = std::string_view[];

constexpr Names kIa3 = {"fan_in_fan_out", "init_ia3_weights"};
constexpr Names kLyCoris = {"use_effective_conv2d", "init_weights", "rank_dropout_scale"};
constexpr Names kDropsRanks = {"rank_dropout", "module_dropout"};
constexpr Names kVera = {"projection_prng_key", "save_projection", "d_initial", "fan_in_fan_out", "init_weights"};
constexpr Names kOft = {"fan_in_fan_out", "init_weights", "eps"};
constexpr Names kOftRefused = {"module_dropout", "coft"};
constexpr Names kHraRefused = {"apply_GS"};
constexpr Names kMiss = {"mini_r"};
constexpr Names kInitialization = {"init_weights"};
constexpr Names kRandLora = {"projection_prng_key", "save_projection", "sparse",      "very_sparse",
                             "fan_in_fan_out",      "randlora_alpha",  "init_weights"};
constexpr Names kVbLora = {"save_only_topk_weights", "fan_in_fan_out", "init_vector_bank_bound", "init_logits_std"};
constexpr Names kAdaLora = {
    "r",     "fan_in_fan_out", "use_rslora", "init_lora_weights", "target_r",      "tinit",         "tfinal", "deltaT",
    "beta1", "beta2",          "total_step", "qalora_group_size", "megatron_core", "runtime_config"};
constexpr Names kAdaLoraRefused = {
    "rank_pattern", "alpha_pattern", "megatron_config", "trainable_token_indices", "loftq_config",
    "eva_config",   "corda_config",  "use_dora",        "velora_config",           "alora_invocation_tokens",
    "use_qalora",   "lora_bias",     "lora_ga_config",  "layer_replication",       "target_parameters",
    "use_bdlora",   "arrow_config",  "kasa_config",     "monteclora_config",       "ensure_weight_tying"};
constexpr Names kDelora = {"delora_lambda", "lambda_pattern", "init_weights"};
constexpr Names kGralora = {"alpha", "fan_in_fan_out", "init_weights"};
constexpr Names kPvera = {"projection_prng_key", "save_projection", "d_initial",
                          "fan_in_fan_out",      "init_weights",    "generator_seed"};
constexpr Names kPveraRefused = {"sample_at_inference"};
constexpr Names kUniLora = {"proj_seed", "fan_in_fan_out", "init_theta_d_bound", "init_weights", "save_indices"};
constexpr Names kLily = {"scaling", "init_weights"};
constexpr Names kDeft = {"init_scale", "alpha", "fan_in_fan_out"};
constexpr Names kSupertuning = {"select_top", "init_weights", "save_precomputed_indices"};
// layer.py dispatch_default takes `r`, whatever the pattern says.
constexpr Names kHira = {"fan_in_fan_out", "init_weights", "rank_pattern"};
constexpr Names kTinyLora = {"projection_seed", "save_projection", "fan_in_fan_out", "init_weights", "init_v_bound"};
constexpr Names kPsoft = {"fan_in_fan_out",          "ab_svd_init", "psoft_svd",
                          "psoft_svd_lowrank_niter", "random_seed", "init_weights"};
// _project_Q: the host asks how long the matrix is.
constexpr Names kPsoftRefused = {"cayley_neumann_eps"};
constexpr Names kOsf = {"init_weights", "target_svd_config"};
constexpr Names kPeanut = {"scaling", "init_weights"};

constexpr KindKeys kKeys[] = {
    {.kind = AdapterKind::ia3, .layers = false, .idle = kIa3},
    {.kind = AdapterKind::loha,
     .alpha = "alpha",
     .ranks = true,
     .alphas = true,
     .idle = kLyCoris,
     .refused = kDropsRanks},
    {.kind = AdapterKind::lokr,
     .alpha = "alpha",
     .ranks = true,
     .alphas = true,
     .idle = kLyCoris,
     .refused = kDropsRanks},
    {.kind = AdapterKind::vera, .dropout = "vera_dropout", .excludes = false, .bias = true, .idle = kVera},
    {.kind = AdapterKind::oft, .bias = true, .idle = kOft, .refused = kOftRefused},
    {.kind = AdapterKind::adalora,
     .dropout = "lora_dropout",
     .alpha = "lora_alpha",
     .bias = true,
     .idle = kAdaLora,
     .refused = kAdaLoraRefused},
    {.kind = AdapterKind::ln_tuning, .layers = false},
    {.kind = AdapterKind::hra, .bias = true, .idle = kInitialization, .refused = kHraRefused},
    {.kind = AdapterKind::miss, .dropout = "miss_dropout", .bias = true, .idle = kMiss},
    {.kind = AdapterKind::trainable_tokens, .layers = false, .idle = kInitialization},
    {.kind = AdapterKind::road, .layers = false, .idle = kInitialization},
    {.kind = AdapterKind::randlora, .dropout = "randlora_dropout", .bias = true, .idle = kRandLora},
    {.kind = AdapterKind::vblora, .dropout = "vblora_dropout", .bias = true, .idle = kVbLora},
    {.kind = AdapterKind::delora, .dropout = "module_dropout", .bias = true, .ranks = true, .idle = kDelora},
    {.kind = AdapterKind::gralora, .dropout = "gralora_dropout", .excludes = false, .bias = true, .idle = kGralora},
    {.kind = AdapterKind::pvera,
     .dropout = "pvera_dropout",
     .excludes = false,
     .bias = true,
     .idle = kPvera,
     .refused = kPveraRefused},
    {.kind = AdapterKind::unilora, .dropout = "unilora_dropout", .excludes = false, .bias = true, .idle = kUniLora},
    {.kind = AdapterKind::lily, .idle = kLily},
    {.kind = AdapterKind::glora, .excludes = false, .layers = false, .bias = true, .idle = kInitialization},
    {.kind = AdapterKind::deft, .dropout = "deft_dropout", .bias = true, .idle = kDeft},
    {.kind = AdapterKind::beft, .excludes = false, .layers = false, .idle = kInitialization},
    {.kind = AdapterKind::hira, .dropout = "hira_dropout", .idle = kHira},
    {.kind = AdapterKind::supertuning,
     .dropout = "lora_dropout",
     .excludes = false,
     .layers = false,
     .idle = kSupertuning},
    {.kind = AdapterKind::peanut, .idle = kPeanut},
    {.kind = AdapterKind::tinylora, .dropout = "tinylora_dropout", .excludes = false, .bias = true, .idle = kTinyLora},
    {.kind = AdapterKind::psoft,
     .dropout = "psoft_dropout",
     .alpha = "psoft_alpha",
     .idle = kPsoft,
     .refused = kPsoftRefused},
    {.kind = AdapterKind::osf, .excludes = false, .layers = false, .idle = kOsf},
};

const KindKeys* find_keys(AdapterKind kind) {
    const auto* const found =
        std::find_if(std::begin(kKeys), std::end(kKeys), [kind](const KindKeys& keys) { return keys.kind == kind; });
    return found == std::end(kKeys) ? nullptr : found;
}

}  // namespace

bool has_dropout(AdapterKind kind) {
    if (kind == AdapterKind::lora) return true;
    const KindKeys* const found = find_keys(kind);
    return found && !found->dropout.empty();
}

const KindKeys& keys_of(AdapterKind kind) {
    const KindKeys* const found = find_keys(kind);
    if (!found) throw std::logic_error("a kind of adapters without its row of keys");
    return *found;
}

}  // namespace vramfit
