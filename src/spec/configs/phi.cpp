// The family phi: PhiConfig.
#include "spec/config_family.hpp"

namespace vramfit::configs {

namespace {

ModelSpec phi_defaults() {
    ModelSpec m;
    m.vocab_size = 51200;
    m.hidden_size = 2048;
    m.intermediate_size = 8192;
    m.num_hidden_layers = 24;
    m.num_attention_heads = 32;
    m.max_position_embeddings = 2048;
    m.hidden_act = Activation::gelu_new;
    m.attention_bias = true;
    m.output_bias = true;
    m.mlp_bias = true;
    m.head_bias = true;
    m.partial_rotary_factor = 0.5;  // PhiConfig.__post_init__
    return m;
}

void read_phi(ObjectReader& config, ModelSpec& model) {
    constexpr RealRange kRate = {.low = 0, .high = 1};
    read_activation(config, model, "hidden_act");
    read_partial_rotary(config, model, "partial_rotary_factor");
    ObjectReader::set(model.residual_dropout, config.real("resid_pdrop", kRate));
    ObjectReader::set(model.embedding_dropout, config.real("embd_pdrop", kRate));
    if (config.boolean("qk_layernorm").value_or(false))
        config.problems().unsupported(config.path("qk_layernorm"), "norms on queries and keys are not supported",
                                      "microsoft/phi-1, phi-1_5 and phi-2 have none");
}

// modeling_phi.py, PhiAttention, PhiMLP and PhiDecoderLayer.
void phi_layer(const ModelSpec& m, LayerModules& layer) {
    const std::int64_t queries = m.num_attention_heads * m.head_dim;
    const std::int64_t keys = m.num_key_value_heads * m.head_dim;
    layer.other("self_attn");
    layer.linear(ModulePart::query, "self_attn.q_proj", m.hidden_size, queries, m.attention_bias);
    layer.linear(ModulePart::key, "self_attn.k_proj", m.hidden_size, keys, m.attention_bias);
    layer.linear(ModulePart::value, "self_attn.v_proj", m.hidden_size, keys, m.attention_bias);
    layer.linear(ModulePart::output, "self_attn.dense", queries, m.hidden_size, m.output_bias);
    layer.other("mlp");
    layer.other("mlp.activation_fn");
    layer.linear(ModulePart::up, "mlp.fc1", m.hidden_size, m.intermediate_size, m.mlp_bias);
    layer.linear(ModulePart::down, "mlp.fc2", m.intermediate_size, m.hidden_size, m.mlp_bias);
    layer.norm(ModulePart::input_norm, "input_layernorm", m.hidden_size, true);
    layer.other("resid_dropout");
}

}  // namespace

extern const ConfigFamily phi_entry;
const ConfigFamily phi_entry = {
    .model_type = "phi",
    .layer_class = "PhiDecoderLayer",
    .since = {4, 37, 0},
    .heads_divide_hidden = true,
    .null_head_dim = true,
    .defaults = phi_defaults,
    .read = read_phi,
    .layer = phi_layer,
    .names = {.dropout = "embed_dropout", .norm = "final_layernorm", .norm_bias = true},
    .exact_since = {5, 0, 0},
};

}  // namespace vramfit::configs
