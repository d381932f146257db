// The family gpt_oss: GptOssConfig.
#include "spec/config_family.hpp"

namespace vramfit::configs {

namespace {

ModelSpec gpt_oss_defaults() {
    ModelSpec m;
    m.vocab_size = 201088;
    m.hidden_size = 2880;
    m.intermediate_size = 2880;
    m.num_hidden_layers = 36;
    m.num_attention_heads = 64;
    m.num_key_value_heads = 8;
    m.head_dim = 64;
    m.max_position_embeddings = 131072;
    m.sliding_window = 128;
    m.attention_bias = true;
    m.output_bias = true;
    m.rope_type = "yarn";
    m.mixture = MixtureSpec{.num_experts = 128, .num_experts_per_tok = 4};
    return m;
}

// GptOssConfig.__post_init__: without layer_types every second layer slides, the first one too. The activation is the
// module's own (modeling_gpt_oss.py, GptOssExperts._apply_gate).
void read_gpt_oss(ObjectReader& config, ModelSpec& model) {
    read_activation(config, model, "hidden_act");
    read_attention_bias(config, model);
    read_mixture(config, model, "num_local_experts", "num_experts");
    read_sliding_window(config, model.sliding_window);
    if (auto types = read_layer_types(config, model)) {
        model.layer_types = std::move(*types);
        return;
    }
    for (std::int64_t i = 0; i < model.num_hidden_layers; ++i)
        model.layer_types[static_cast<std::size_t>(i)] = i % 2 == 0 ? LayerAttention::sliding : LayerAttention::full;
}

// modeling_gpt_oss.py, GptOssAttention (a sink for each head) and GptOssMLP: weights are stored transposed, with
// biases.
void gpt_oss_layer(const ModelSpec& m, LayerModules& layer) {
    const std::int64_t experts = m.mixture->num_experts, width = m.mixture->intermediate_size;
    layer.bare(ModulePart::attention, "self_attn", {{"sinks", {m.num_attention_heads}, {}}});
    attention_projections(m, layer);
    layer.other("mlp");
    layer.bare(ModulePart::router, "mlp.router",
               {{"weight", {experts, m.hidden_size}, {}}, {"bias", {experts}, {}, true}});
    layer.bare(ModulePart::experts, "mlp.experts",
               {{"gate_up_proj", {experts, m.hidden_size, 2 * width}, {}, false, true},
                {"gate_up_proj_bias", {experts, 2 * width}, {}, true},
                {"down_proj", {experts, width, m.hidden_size}, {}, false, true},
                {"down_proj_bias", {experts, m.hidden_size}, {}, true}});
    layer.norm(ModulePart::input_norm, "input_layernorm", m.hidden_size);
    layer.norm(ModulePart::post_attention_norm, "post_attention_layernorm", m.hidden_size);
}

}  // namespace

extern const ConfigFamily gpt_oss_entry;
const ConfigFamily gpt_oss_entry = {
    .model_type = "gpt_oss",
    .layer_class = "GptOssDecoderLayer",
    .since = {4, 55, 0},
    .heads_divide_hidden = false,
    .null_head_dim = false,
    .defaults = gpt_oss_defaults,
    .read = read_gpt_oss,
    .layer = gpt_oss_layer,
};

}  // namespace vramfit::configs
