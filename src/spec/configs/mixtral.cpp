// The family mixtral: MixtralConfig.
#include "spec/config_family.hpp"

namespace vramfit::configs {

namespace {

ModelSpec mixtral_defaults() {
    ModelSpec m;
    m.vocab_size = 32000;
    m.hidden_size = 4096;
    m.intermediate_size = 14336;
    m.num_hidden_layers = 32;
    m.num_attention_heads = 32;
    m.num_key_value_heads = 8;
    m.max_position_embeddings = 4096 * 32;
    m.mixture = MixtureSpec{.num_experts = 8, .num_experts_per_tok = 2, .norm_topk_prob = true};
    return m;
}

// A window, if there is one, holds in every layer: MixtralModel.forward makes one mask for all.
void read_mixtral(ObjectReader& config, ModelSpec& model) {
    read_activation(config, model, "hidden_act");
    read_mixture(config, model, "num_local_experts", "num_experts");
    if (config.real("router_jitter_noise").value_or(0) > 0)
        config.problems().unsupported(config.path("router_jitter_noise"), "noise before the router is not supported",
                                      "leave it out");
    read_window_of_all(config, model);
}

// modeling_mixtral.py, MixtralSparseMoeBlock; conversion_mapping.py, "mixtral".
void mixtral_layer(const ModelSpec& m, LayerModules& layer) {
    separate_attention(m, layer);
    layer.other("mlp");
    layer.bare(ModulePart::router, "mlp.gate", {{"weight", {m.mixture->num_experts, m.hidden_size}, {}}},
               "block_sparse_moe.gate");
    layer.bare(ModulePart::experts, "mlp.experts", merged_experts(m, "w1", "w3", "w2"), "block_sparse_moe.experts");
    layer.other("mlp.experts.act_fn");
    layer.norm(ModulePart::input_norm, "input_layernorm", m.hidden_size);
    layer.norm(ModulePart::post_attention_norm, "post_attention_layernorm", m.hidden_size);
}

}  // namespace

extern const ConfigFamily mixtral_entry;
const ConfigFamily mixtral_entry = {
    .model_type = "mixtral",
    .layer_class = "MixtralDecoderLayer",
    .since = {4, 36, 0},
    .heads_divide_hidden = false,
    .null_head_dim = true,
    .defaults = mixtral_defaults,
    .read = read_mixtral,
    .layer = mixtral_layer,
};

}  // namespace vramfit::configs
