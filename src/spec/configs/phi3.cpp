// The family phi3: Phi3Config.
#include "spec/config_family.hpp"
#include "vramfit/base/checked.hpp"

namespace vramfit::configs {

namespace {

ModelSpec phi3_defaults() {
    ModelSpec m;
    m.vocab_size = 32064;
    m.hidden_size = 3072;
    m.intermediate_size = 8192;
    m.num_hidden_layers = 32;
    m.num_attention_heads = 32;
    m.max_position_embeddings = 4096;
    m.original_max_position_embeddings = 4096;
    m.pad_token_id = 32000;
    return m;
}

// No biases anywhere (modeling_phi3.py). A window, if there is one, holds in every layer: Phi3Model.forward makes one
// mask for all.
void read_phi3(ObjectReader& config, ModelSpec& model) {
    read_activation(config, model, "hidden_act");
    read_window_of_all(config, model);
    ObjectReader::set(model.residual_dropout, config.real("resid_pdrop", {.low = 0, .high = 1}));
    ObjectReader::set(model.original_max_position_embeddings,
                      config.integer("original_max_position_embeddings", {.low = 1}));
    read_partial_rotary(config, model, "partial_rotary_factor");
    // Phi3Config.convert_rope_params_to_dict: older names of the same.
    if (model.rope_type == "su" || model.rope_type == "yarn") model.rope_type = "longrope";
    if (model.rope_type != "default" && model.rope_type != "longrope")
        config.problems().invalid(config.path("rope_scaling"),
                                  "Phi3Config.validate_rope takes the types default and longrope only",
                                  "write longrope, or leave the key out");
}

// modeling_phi3.py, Phi3Attention, Phi3MLP and Phi3DecoderLayer.
void phi3_layer(const ModelSpec& m, LayerModules& layer) {
    const std::int64_t queries = checked_mul(m.num_attention_heads, m.head_dim);
    const std::int64_t keys = checked_mul(m.num_key_value_heads, m.head_dim);
    layer.other("self_attn");
    layer.linear(ModulePart::output, "self_attn.o_proj", queries, m.hidden_size, false);
    layer.linear(ModulePart::query_key_value, "self_attn.qkv_proj", m.hidden_size,
                 checked_add(queries, checked_mul(2, keys)), false);
    joined_mlp(m, layer);
    layer.norm(ModulePart::input_norm, "input_layernorm", m.hidden_size);
    layer.norm(ModulePart::post_attention_norm, "post_attention_layernorm", m.hidden_size);
    layer.other("resid_attn_dropout");
    layer.other("resid_mlp_dropout");
}

}  // namespace

extern const ConfigFamily phi3_entry;
const ConfigFamily phi3_entry = {
    .model_type = "phi3",
    .layer_class = "Phi3DecoderLayer",
    .since = {4, 41, 0},
    .heads_divide_hidden = false,
    .null_head_dim = false,
    .defaults = phi3_defaults,
    .read = read_phi3,
    .layer = phi3_layer,
    .exact_since = {4, 44, 0},
};

}  // namespace vramfit::configs
