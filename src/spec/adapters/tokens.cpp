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

}  // namespace

void check_token_indices(const ModelSpec& model, const LoraPlan& plan, Problems& problems) {
    const AdapterOptions& options = plan.options;
    const bool alone = plan.kind == AdapterKind::trainable_tokens;
    const std::string where = alone ? "peft.token_indices" : "peft.trainable_token_indices";
    if (alone && options.token_indices.empty())
        return problems.invalid(where, "names no token", "the numbers of the tokens whose embeddings are trained");
    if (options.token_indices.empty()) return;
    const std::int64_t most = *std::max_element(options.token_indices.begin(), options.token_indices.end());
    if (most >= model.vocab_size)
        problems.invalid(where, fmt::format("token {} is not one of the model's {}", most, model.vocab_size),
                         fmt::format("at most {}", model.vocab_size - 1));
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
