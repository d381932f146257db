// The family qwen2_moe: Qwen2MoeConfig.
#include "spec/config_family.hpp"

namespace vramfit::configs {

namespace {

ModelSpec qwen2_moe_defaults() {
    ModelSpec m;
    m.vocab_size = 151936;
    m.hidden_size = 2048;
    m.intermediate_size = 5632;
    m.num_hidden_layers = 24;
    m.num_attention_heads = 16;
    m.num_key_value_heads = 16;
    m.max_position_embeddings = 32768;
    m.attention_bias = true;
    m.mixture = MixtureSpec{.num_experts = 60,
                            .num_experts_per_tok = 4,
                            .intermediate_size = 1408,
                            .shared_expert_intermediate_size = 5632};
    return m;
}

// Qwen2MoeConfig.__post_init__: without use_sliding_window the window is 0, which still makes a mask of its own; with
// it every other layer below max_window_layers slides.
void read_window(ObjectReader& config, ModelSpec& model) {
    std::optional<std::int64_t> window = 4096;
    std::int64_t last = 28;
    bool use = false;
    read_sliding_window(config, window);
    ObjectReader::set(last, config.integer("max_window_layers"));
    ObjectReader::set(use, config.boolean("use_sliding_window"));
    model.sliding_window = use ? window : 0;
    if (auto types = read_layer_types(config, model)) {
        model.layer_types = std::move(*types);
        return;
    }
    for (std::int64_t i = 0; i < model.num_hidden_layers; ++i)
        if (use && i < last && i % 2 == 0) model.layer_types[static_cast<std::size_t>(i)] = LayerAttention::sliding;
}

void read_qwen2_moe(ObjectReader& config, ModelSpec& model) {
    read_activation(config, model, "hidden_act");
    ObjectReader::set(model.attention_bias, config.boolean("qkv_bias"));
    read_qwen_mixture(config, model);
    ObjectReader::set(model.mixture->shared_expert_intermediate_size,
                      config.integer("shared_expert_intermediate_size", {.low = 1, .high = std::int64_t{1} << 31}));
    read_window(config, model);
}

// modeling_qwen2_moe.py, Qwen2MoeSparseMoeBlock; layers without experts have an MLP of intermediate_size.
void qwen2_moe_layer(const ModelSpec& m, LayerModules& layer) {
    separate_attention(m, layer);
    if (has_experts(m, layer.layer())) {
        const std::int64_t width = m.mixture->shared_expert_intermediate_size;
        layer.other("mlp");
        layer.bare(ModulePart::router, "mlp.gate", {{"weight", {m.mixture->num_experts, m.hidden_size}, {}}});
        layer.bare(ModulePart::experts, "mlp.experts", merged_experts(m, "gate_proj", "up_proj", "down_proj"));
        layer.other("mlp.experts.act_fn");
        layer.other("mlp.shared_expert");
        layer.linear(ModulePart::shared_gate, "mlp.shared_expert.gate_proj", m.hidden_size, width, false);
        layer.linear(ModulePart::shared_up, "mlp.shared_expert.up_proj", m.hidden_size, width, false);
        layer.linear(ModulePart::shared_down, "mlp.shared_expert.down_proj", width, m.hidden_size, false);
        layer.other("mlp.shared_expert.act_fn");
        layer.linear(ModulePart::shared_expert_gate, "mlp.shared_expert_gate", m.hidden_size, 1, false);
    } else {
        gated_mlp(m, layer);
    }
    layer.norm(ModulePart::input_norm, "input_layernorm", m.hidden_size);
    layer.norm(ModulePart::post_attention_norm, "post_attention_layernorm", m.hidden_size);
}

}  // namespace

extern const ConfigFamily qwen2_moe_entry;
const ConfigFamily qwen2_moe_entry = {
    .model_type = "qwen2_moe",
    .layer_class = "Qwen2MoeDecoderLayer",
    .since = {4, 40, 0},
    .heads_divide_hidden = false,
    .null_head_dim = false,
    .defaults = qwen2_moe_defaults,
    .read = read_qwen2_moe,
    .layer = qwen2_moe_layer,
};

}  // namespace vramfit::configs
