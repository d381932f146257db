// The family qwen3_moe: Qwen3MoeConfig.
#include "spec/config_family.hpp"

namespace vramfit::configs {

namespace {

ModelSpec qwen3_moe_defaults() {
    ModelSpec m;
    m.vocab_size = 151936;
    m.hidden_size = 2048;
    m.intermediate_size = 6144;
    m.num_hidden_layers = 24;
    m.num_attention_heads = 32;
    m.num_key_value_heads = 4;
    m.max_position_embeddings = 32768;
    m.mixture = MixtureSpec{.num_experts = 128, .num_experts_per_tok = 8, .intermediate_size = 768};
    return m;
}

// A window, if there is one, holds in every layer: Qwen3MoeModel.forward makes one mask for all.
void read_qwen3_moe(ObjectReader& config, ModelSpec& model) {
    read_activation(config, model, "hidden_act");
    read_attention_bias(config, model);
    read_qwen_mixture(config, model);
    std::optional<std::int64_t> window = 4096;
    bool use = false;
    read_sliding_window(config, window);
    ObjectReader::set(use, config.boolean("use_sliding_window"));
    model.sliding_window = use ? window : std::nullopt;
    slide_in_all_or_none(model);
}

// modeling_qwen3_moe.py, Qwen3MoeSparseMoeBlock; layers without experts have an MLP of intermediate_size.
void qwen3_moe_layer(const ModelSpec& m, LayerModules& layer) {
    separate_attention(m, layer, {m.head_dim, m.head_dim});
    if (has_experts(m, layer.layer())) {
        layer.other("mlp");
        layer.bare(ModulePart::experts, "mlp.experts", merged_experts(m, "gate_proj", "up_proj", "down_proj"));
        layer.other("mlp.experts.act_fn");
        layer.bare(ModulePart::router, "mlp.gate", {{"weight", {m.mixture->num_experts, m.hidden_size}, {}}});
    } else {
        gated_mlp(m, layer);
    }
    layer.norm(ModulePart::input_norm, "input_layernorm", m.hidden_size);
    layer.norm(ModulePart::post_attention_norm, "post_attention_layernorm", m.hidden_size);
}

}  // namespace

extern const ConfigFamily qwen3_moe_entry;
const ConfigFamily qwen3_moe_entry = {
    .model_type = "qwen3_moe",
    .layer_class = "Qwen3MoeDecoderLayer",
    .since = {4, 51, 0},
    .heads_divide_hidden = false,
    .null_head_dim = false,
    .defaults = qwen3_moe_defaults,
    .read = read_qwen3_moe,
    .layer = qwen3_moe_layer,
};

}  // namespace vramfit::configs
