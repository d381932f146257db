// How many weights a network has.
#include <fmt/format.h>

#include "spec/config_family.hpp"
#include "vramfit/base/checked.hpp"
#include "vramfit/base/error.hpp"
#include "vramfit/spec/config.hpp"

namespace vramfit {

namespace {

const ConfigFamily& family_of(std::string_view model_type) {
    const ConfigFamily* family = config_family(model_type);
    if (!family)
        throw Error(ErrorKind::unsupported, "", fmt::format("the model type '{}' is not supported", model_type),
                    fmt::format("supported: {}", fmt::join(model_families(), ", ")));
    return *family;
}

std::int64_t linear(std::int64_t in, std::int64_t out, bool bias) {
    return checked_add(checked_mul(in, out), bias ? out : 0);
}

}  // namespace

Version family_since(std::string_view model_type) { return family_of(model_type).since; }

std::int64_t layer_parameters(const ModelSpec& m) {
    const ConfigFamily& family = family_of(m.model_type);
    const std::int64_t queries = checked_mul(m.num_attention_heads, m.head_dim);
    const std::int64_t keys = checked_mul(m.num_key_value_heads, m.head_dim);
    std::int64_t sum = linear(m.hidden_size, queries, m.attention_bias);
    sum = checked_add(sum, checked_mul(2, linear(m.hidden_size, keys, m.attention_bias)));
    sum = checked_add(sum, linear(queries, m.hidden_size, m.output_bias));
    sum = checked_add(sum, checked_mul(2, linear(m.hidden_size, m.intermediate_size, m.mlp_bias)));
    sum = checked_add(sum, linear(m.intermediate_size, m.hidden_size, m.mlp_bias));
    sum = checked_add(sum, checked_mul(family.norms_per_layer, m.hidden_size));
    return checked_add(sum, family.qk_norm ? 2 * m.head_dim : 0);
}

std::int64_t total_parameters(const ModelSpec& m) {
    const std::int64_t embedding = checked_mul(m.vocab_size, m.hidden_size);
    const std::int64_t layers = checked_mul(m.num_hidden_layers, layer_parameters(m));
    std::int64_t sum = checked_add(embedding, layers);
    sum = checked_add(sum, m.hidden_size);  // the final norm
    return checked_add(sum, m.tie_word_embeddings ? 0 : embedding);
}

}  // namespace vramfit
