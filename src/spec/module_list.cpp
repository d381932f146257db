// The modules that the decoder layers of several families share.
#include "spec/module_list.hpp"

#include <fmt/format.h>

namespace vramfit {

void LayerModules::put(ModulePart part, ModuleKind kind, std::string_view name, std::int64_t in, std::int64_t out,
                       bool bias) {
    out_->push_back({fmt::format("{}.{}", prefix_, name), kind, layer_, in, out, part, bias});
}

void separate_attention(const ModelSpec& m, LayerModules& layer, QueryKeyNorms norms) {
    const std::int64_t queries = m.num_attention_heads * m.head_dim;
    const std::int64_t keys = m.num_key_value_heads * m.head_dim;
    layer.other("self_attn");
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

void four_norms(const ModelSpec& m, LayerModules& layer) {
    layer.norm(ModulePart::input_norm, "input_layernorm", m.hidden_size);
    layer.norm(ModulePart::post_attention_norm, "post_attention_layernorm", m.hidden_size);
    layer.norm(ModulePart::pre_feedforward_norm, "pre_feedforward_layernorm", m.hidden_size);
    layer.norm(ModulePart::post_feedforward_norm, "post_feedforward_layernorm", m.hidden_size);
}

void llama_layer(const ModelSpec& m, LayerModules& layer) {
    separate_attention(m, layer);
    gated_mlp(m, layer);
    layer.norm(ModulePart::input_norm, "input_layernorm", m.hidden_size);
    layer.norm(ModulePart::post_attention_norm, "post_attention_layernorm", m.hidden_size);
}

}  // namespace vramfit
