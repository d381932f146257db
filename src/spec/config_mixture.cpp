// What the configurations of mixtures of experts have in common.
#include <algorithm>

#include <fmt/format.h>

#include "spec/config_family.hpp"

namespace vramfit {

namespace {

// Beyond it torch.topk may take a kernel with scratch (engine/ops/index.hpp); no published mixture of these families
// comes near.
constexpr std::int64_t kMostExperts = 399;

/// transformers 5.17.0, modeling_utils.py, get_correct_experts_implementation: grouped_mm if nothing is said.
void read_implementation(ObjectReader& config) {
    const auto word = config.text("experts_implementation", Null::absent);
    if (!word || *word == "grouped_mm") return;
    config.problems().unsupported(config.path("experts_implementation"),
                                  fmt::format("experts run as '{}' are not supported", *word),
                                  "leave it out: grouped_mm is what transformers takes");
}

}  // namespace

bool has_experts(const ModelSpec& model, std::int64_t layer) {
    if (!model.mixture) return false;
    const auto& plain = model.mixture->mlp_only_layers;
    return std::find(plain.begin(), plain.end(), layer) == plain.end() &&
           (layer + 1) % model.mixture->decoder_sparse_step == 0;
}

void read_mixture(ObjectReader& config, ModelSpec& model, std::string_view count, std::string_view alias) {
    MixtureSpec& mixture = *model.mixture;
    if (!alias.empty() && config.has(alias) && !config.has(count)) count = alias;
    ObjectReader::set(mixture.num_experts, config.integer(count, {.low = 1, .high = kMostExperts}));
    ObjectReader::set(mixture.num_experts_per_tok,
                      config.integer("num_experts_per_tok", {.low = 1, .high = kMostExperts}));
    ObjectReader::set(mixture.output_router_logits, config.boolean("output_router_logits"));
    mixture.router_aux_loss_coef = config.real("router_aux_loss_coef", {}, Null::absent);
    mixture.intermediate_size = model.intermediate_size;
    if (mixture.num_experts_per_tok > mixture.num_experts)
        config.problems().invalid(config.path("num_experts_per_tok"),
                                  fmt::format("{} of {} experts", mixture.num_experts_per_tok, mixture.num_experts),
                                  fmt::format("at most {}", mixture.num_experts));
    read_implementation(config);
}

void read_qwen_mixture(ObjectReader& config, ModelSpec& model) {
    constexpr IntegerRange kWidth = {.low = 1, .high = std::int64_t{1} << 31};
    MixtureSpec& mixture = *model.mixture;
    const std::int64_t own = mixture.intermediate_size;
    read_mixture(config, model, "num_experts", model.model_type == "qwen3_moe" ? "num_local_experts" : "");
    mixture.intermediate_size = own;
    ObjectReader::set(mixture.intermediate_size, config.integer("moe_intermediate_size", kWidth));
    ObjectReader::set(mixture.decoder_sparse_step, config.integer("decoder_sparse_step", kWidth));
    ObjectReader::set(mixture.norm_topk_prob, config.boolean("norm_topk_prob"));
    if (auto layers = config.integers("mlp_only_layers", {.low = 0}, Null::absent))
        mixture.mlp_only_layers = std::move(*layers);
}

}  // namespace vramfit
