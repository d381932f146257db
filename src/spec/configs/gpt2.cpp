// The family gpt2: GPT2Config.
#include "spec/config_family.hpp"
#include "vramfit/base/checked.hpp"

namespace vramfit::configs {

namespace {

ModelSpec gpt2_defaults() {
    ModelSpec m;
    m.vocab_size = 50257;
    m.hidden_size = 768;
    m.num_hidden_layers = 12;
    m.num_attention_heads = 12;
    m.max_position_embeddings = 1024;
    m.hidden_act = Activation::gelu_new;
    m.tie_word_embeddings = true;
    m.attention_bias = true;
    m.output_bias = true;
    m.mlp_bias = true;
    return m;
}

// The class's own names; attribute_map takes the common ones as well.
void read_gpt2_sizes(ObjectReader& config, ModelSpec& model) {
    constexpr IntegerRange kSize = {.low = 1, .high = std::int64_t{1} << 31};
    ObjectReader::set(model.hidden_size, config.integer("n_embd", kSize));
    ObjectReader::set(model.num_hidden_layers, config.integer("n_layer", {.low = 1, .high = 10'000}));
    ObjectReader::set(model.num_attention_heads, config.integer("n_head", kSize));
    ObjectReader::set(model.max_position_embeddings, config.integer("n_positions", kSize));
    model.intermediate_size = config.integer("n_inner", kSize, Null::absent).value_or(4 * model.hidden_size);
    model.num_key_value_heads = model.num_attention_heads;
    model.head_dim = 0;  // GPT2Attention: embed_dim // num_heads, whatever else the file says
    model.layer_types.assign(static_cast<std::size_t>(model.num_hidden_layers), LayerAttention::full);
}

void read_gpt2(ObjectReader& config, ModelSpec& model) {
    constexpr RealRange kRate = {.low = 0, .high = 1};
    read_gpt2_sizes(config, model);
    read_activation(config, model, "activation_function");
    model.attention_dropout = config.real("attn_pdrop", kRate).value_or(0.1);
    model.residual_dropout = config.real("resid_pdrop", kRate).value_or(0.1);
    model.embedding_dropout = config.real("embd_pdrop", kRate).value_or(0.1);
    model.rope_type = "default";  // positions are learned
    for (const char* key : {"add_cross_attention", "reorder_and_upcast_attn"})
        if (config.boolean(key).value_or(false))
            config.problems().unsupported(config.path(key), "is not supported", "leave it out");
}

// modeling_gpt2.py, GPT2Attention, GPT2MLP and GPT2Block.
void gpt2_layer(const ModelSpec& m, LayerModules& layer) {
    layer.norm(ModulePart::input_norm, "ln_1", m.hidden_size, true);
    layer.other("attn");
    layer.conv1d(ModulePart::query_key_value, "attn.c_attn", m.hidden_size, checked_mul(3, m.hidden_size));
    layer.conv1d(ModulePart::output, "attn.c_proj", m.hidden_size, m.hidden_size);
    layer.other("attn.attn_dropout");
    layer.other("attn.resid_dropout");
    layer.norm(ModulePart::post_attention_norm, "ln_2", m.hidden_size, true);
    layer.other("mlp");
    layer.conv1d(ModulePart::up, "mlp.c_fc", m.hidden_size, m.intermediate_size);
    layer.conv1d(ModulePart::down, "mlp.c_proj", m.intermediate_size, m.hidden_size);
    layer.other("mlp.act");
    layer.other("mlp.dropout");
}

}  // namespace

extern const ConfigFamily gpt2_entry;
const ConfigFamily gpt2_entry = {
    .model_type = "gpt2",
    .layer_class = "GPT2Block",
    .since = {4, 0, 0},
    .heads_divide_hidden = true,
    .null_head_dim = true,
    .defaults = gpt2_defaults,
    .read = read_gpt2,
    .layer = gpt2_layer,
    .names = {.base = "transformer",
              .embedding = "wte",
              .positions = "wpe",
              .dropout = "drop",
              .layers = "h",
              .norm = "ln_f",
              .rotary = "",
              .norm_bias = true},
    .exact_since = {5, 0, 0},
};

}  // namespace vramfit::configs
