// The family gpt_neox: GPTNeoXConfig.
#include "spec/config_family.hpp"
#include "vramfit/base/checked.hpp"

namespace vramfit::configs {

namespace {

ModelSpec gpt_neox_defaults() {
    ModelSpec m;
    m.vocab_size = 50432;
    m.hidden_size = 6144;
    m.intermediate_size = 24576;
    m.num_hidden_layers = 44;
    m.num_attention_heads = 64;
    m.max_position_embeddings = 2048;
    m.hidden_act = Activation::gelu;
    m.attention_bias = true;
    m.output_bias = true;
    m.mlp_bias = true;
    m.partial_rotary_factor = 0.25;
    return m;
}

void read_gpt_neox(ObjectReader& config, ModelSpec& model) {
    read_activation(config, model, "hidden_act");
    read_attention_bias(config, model);
    ObjectReader::set(model.use_parallel_residual, config.boolean("use_parallel_residual"));
    // GPTNeoXModel.emb_dropout, GPTNeoXLayer.post_attention_dropout and post_mlp_dropout.
    model.residual_dropout = config.real("hidden_dropout", {.low = 0, .high = 1}).value_or(0);
    model.embedding_dropout = model.residual_dropout;
    read_partial_rotary(config, model, "rotary_pct");
    model.num_key_value_heads = model.num_attention_heads;  // GPTNeoXAttention knows no groups
    if (model.head_dim != 0 && model.head_dim * model.num_attention_heads != model.hidden_size)
        config.problems().invalid(config.path("head_dim"), "GPTNeoXAttention takes hidden_size / num_attention_heads",
                                  "leave it out");
}

// modeling_gpt_neox.py, GPTNeoXLayer, GPTNeoXAttention and GPTNeoXMLP, whose layers always have biases.
void gpt_neox_layer(const ModelSpec& m, LayerModules& layer) {
    layer.norm(ModulePart::input_norm, "input_layernorm", m.hidden_size, true);
    layer.norm(ModulePart::post_attention_norm, "post_attention_layernorm", m.hidden_size, true);
    layer.other("post_attention_dropout");
    layer.other("post_mlp_dropout");
    layer.other("attention");
    layer.linear(ModulePart::query_key_value, "attention.query_key_value", m.hidden_size, checked_mul(3, m.hidden_size),
                 m.attention_bias);
    layer.linear(ModulePart::output, "attention.dense", m.hidden_size, m.hidden_size, m.output_bias);
    layer.other("mlp");
    layer.linear(ModulePart::up, "mlp.dense_h_to_4h", m.hidden_size, m.intermediate_size, true);
    layer.linear(ModulePart::down, "mlp.dense_4h_to_h", m.intermediate_size, m.hidden_size, true);
    layer.other("mlp.act");
}

}  // namespace

extern const ConfigFamily gpt_neox_entry;
const ConfigFamily gpt_neox_entry = {
    .model_type = "gpt_neox",
    .layer_class = "GPTNeoXLayer",
    .since = {4, 19, 0},
    .heads_divide_hidden = true,
    .null_head_dim = true,
    .defaults = gpt_neox_defaults,
    .read = read_gpt_neox,
    .layer = gpt_neox_layer,
    .names = {.base = "gpt_neox",
              .embedding = "embed_in",
              .dropout = "emb_dropout",
              .norm = "final_layer_norm",
              .published_head = "embed_out",  // conversion_mapping.py
              .norm_bias = true},
    .exact_since = {5, 0, 0},
};

}  // namespace vramfit::configs
