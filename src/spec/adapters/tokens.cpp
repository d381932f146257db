// Rows of the token embedding that are trained (peft 0.21.2, tuners/trainable_tokens, utils/other.py
// set_additional_trainable_modules).
#include <algorithm>

#include <fmt/format.h>

#include "spec/plan_check_parts.hpp"
#include "vramfit/spec/modules.hpp"

namespace vramfit {

namespace {

std::string embedding_of(const ModelSpec& model) {
    for (const NamedModule& module : modules_of(model))
        if (module.part == ModulePart::embedding) return module.name;
    return {};
}

std::string key_of_tokens(const LoraPlan& plan) {
    return plan.kind == AdapterKind::trainable_tokens ? "peft.token_indices" : "peft.trainable_token_indices";
}

}  // namespace

void check_tokens_are_known(const ModelSpec& model, const TrainPlan& plan, Problems& problems) {
    const std::vector<std::int64_t>& tokens = plan.peft->options.token_indices;
    if (tokens.empty()) return;
    const std::int64_t most = *std::max_element(tokens.begin(), tokens.end());
    const std::int64_t known = plan.load.resize_token_embeddings.value_or(model.vocab_size);
    if (most >= known)
        problems.invalid(key_of_tokens(*plan.peft), fmt::format("token {} is not one of the model's {}", most, known),
                         fmt::format("at most {}, or load.resize_token_embeddings", known - 1));
}

void check_token_indices(const ModelSpec& model, const LoraPlan& plan, Problems& problems) {
    const AdapterOptions& options = plan.options;
    const bool alone = plan.kind == AdapterKind::trainable_tokens;
    const std::string where = key_of_tokens(plan);
    if (alone && options.token_indices.empty())
        return problems.invalid(where, "names no token", "the numbers of the tokens whose embeddings are trained");
    if (options.token_indices.empty()) return;
    const std::string embedding = embedding_of(model);
    const auto is_embedding = [&](const std::string& name) { return embedding.ends_with(name); };
    if (!options.tokens_of.empty() && !is_embedding(options.tokens_of))
        problems.unsupported(where, fmt::format("trained rows of '{}' are not supported", options.tokens_of),
                             fmt::format("those of the embedding, {}", embedding));
    if (std::any_of(plan.modules_to_save.begin(), plan.modules_to_save.end(), is_embedding))
        problems.invalid(where, "the embedding layer is already marked to be trained fully (peft)",
                         "leave it out of modules_to_save");
    const auto* const targets = std::get_if<std::vector<std::string>>(&plan.target_modules);
    if (!targets) return;
    for (const std::string& name : *targets)
        if (alone != is_embedding(name) && (alone || is_embedding(name)))
            problems.unsupported("peft.target_modules",
                                 fmt::format("trained tokens with '{}' as a target are not supported", name),
                                 alone ? "leave it out: the embedding" : "leave it out");
}

}  // namespace vramfit
