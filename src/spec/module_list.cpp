// The modules that the decoder layers of several families share.
#include "spec/module_list.hpp"

#include <fmt/format.h>

#include "vramfit/base/checked.hpp"

namespace vramfit {

void LayerModules::put(ModulePart part, ModuleKind kind, std::string_view name, std::int64_t in, std::int64_t out,
                       bool bias) {
    out_->push_back({fmt::format("{}.{}", prefix_, name), kind, layer_, in, out, part, bias, {}, {}});
}

void LayerModules::bare(ModulePart part, std::string_view name, std::vector<BareParameter> parameters,
                        std::string_view published) {
    put(part, ModuleKind::bare, name, 0, 0, false);
    out_->back().parameters = std::move(parameters);
    if (!published.empty()) out_->back().published = fmt::format("{}.{}", prefix_, published);
}

void separate_attention(const ModelSpec& m, LayerModules& layer, QueryKeyNorms norms) {
    layer.other("self_attn");
    attention_projections(m, layer, norms);
}

void attention_projections(const ModelSpec& m, LayerModules& layer, QueryKeyNorms norms) {
    const std::int64_t queries = m.num_attention_heads * m.head_dim;
    const std::int64_t keys = m.num_key_value_heads * m.head_dim;
    layer.linear(ModulePart::query, "self_attn.q_proj", m.hidden_size, queries, m.attention_bias);
    layer.linear(ModulePart::key, "self_attn.k_proj", m.hidden_size, keys, m.attention_bias);
    layer.linear(ModulePart::value, "self_attn.v_proj", m.hidden_size, keys, m.attention_bias);
    layer.linear(ModulePart::output, "self_attn.o_proj", queries, m.hidden_size, m.output_bias);
    if (norms.query > 0) layer.norm(ModulePart::query_norm, "self_attn.q_norm", norms.query);
    if (norms.key > 0) layer.norm(ModulePart::key_norm, "self_attn.k_norm", norms.key);
}

void gated_mlp(const ModelSpec& m, LayerModules& layer) {
    layer.other("mlp");
    layer.linear(ModulePart::gate, "mlp.gate_proj", m.hidden_size, m.intermediate_size, m.mlp_bias);
    layer.linear(ModulePart::up, "mlp.up_proj", m.hidden_size, m.intermediate_size, m.mlp_bias);
    layer.linear(ModulePart::down, "mlp.down_proj", m.intermediate_size, m.hidden_size, m.mlp_bias);
    layer.other("mlp.act_fn");
}

void joined_mlp(const ModelSpec& m, LayerModules& layer) {
    layer.other("mlp");
    layer.linear(ModulePart::gate_up, "mlp.gate_up_proj", m.hidden_size, checked_mul(2, m.intermediate_size), false);
    layer.linear(ModulePart::down, "mlp.down_proj", m.intermediate_size, m.hidden_size, false);
    layer.other("mlp.activation_fn");
}

std::vector<BareParameter> merged_experts(const ModelSpec& m, std::string_view gate, std::string_view up,
                                          std::string_view down) {
    const MixtureSpec& mixture = *m.mixture;
    const std::int64_t experts = mixture.num_experts, width = mixture.intermediate_size;
    const auto file = [](std::string_view name) { return fmt::format("{}.weight", name); };
    return {{"gate_up_proj", {experts, 2 * width, m.hidden_size}, {file(gate), file(up)}},
            {"down_proj", {experts, m.hidden_size, width}, {file(down)}}};
}

void four_norms(const ModelSpec& m, LayerModules& layer) {
    layer.norm(ModulePart::input_norm, "input_layernorm", m.hidden_size);
    layer.norm(ModulePart::post_attention_norm, "post_attention_layernorm", m.hidden_size);
    layer.norm(ModulePart::pre_feedforward_norm, "pre_feedforward_layernorm", m.hidden_size);
    layer.norm(ModulePart::post_feedforward_norm, "post_feedforward_layernorm", m.hidden_size);
}

// modeling_cohere.py, CohereDecoderLayer; modeling_cohere2.py: attention and MLP side by side behind one norm. In
// CohereAttention's q_norm and k_norm each head has weights of its own.
void cohere_layer(const ModelSpec& m, LayerModules& layer) {
    const std::int64_t width = m.normed_heads ? m.head_dim : 0;
    separate_attention(m, layer, {m.num_attention_heads * width, m.num_key_value_heads * width});
    gated_mlp(m, layer);
    layer.norm(ModulePart::input_norm, "input_layernorm", m.hidden_size);
}

void llama_layer(const ModelSpec& m, LayerModules& layer) {
    separate_attention(m, layer);
    gated_mlp(m, layer);
    layer.norm(ModulePart::input_norm, "input_layernorm", m.hidden_size);
    layer.norm(ModulePart::post_attention_norm, "post_attention_layernorm", m.hidden_size);
}

}  // namespace vramfit
