// The modules of a decoder in the order of their registration (transformers modeling_*.py __init__).
#include "model/network.hpp"

#include <fmt/format.h>

#include "model/family.hpp"

namespace vramfit::model {

namespace {

Linear make_linear(const std::string& prefix, const char* name, std::int64_t in, std::int64_t out, bool bias) {
    Linear l;
    l.name = fmt::format("{}.{}", prefix, name);
    l.in = in;
    l.out = out;
    l.has_bias = bias;
    return l;
}

Norm make_norm(const std::string& prefix, const char* name, std::int64_t width) {
    return {fmt::format("{}.{}", prefix, name), width, {}};
}

DecoderLayer make_layer(const ModelSpec& spec, const Family& family, int i) {
    DecoderLayer layer;
    const std::string prefix = fmt::format("model.layers.{}", i);
    const std::string attn = prefix + ".self_attn";
    const std::string mlp = prefix + ".mlp";
    const std::int64_t q = spec.num_attention_heads * spec.head_dim;
    const std::int64_t kv = spec.num_key_value_heads * spec.head_dim;
    layer.index = static_cast<std::int16_t>(i);
    if (!spec.layer_types.empty()) layer.attention = spec.layer_types[static_cast<std::size_t>(i)];
    layer.q = make_linear(attn, "q_proj", spec.hidden_size, q, spec.attention_bias);
    layer.k = make_linear(attn, "k_proj", spec.hidden_size, kv, spec.attention_bias);
    layer.v = make_linear(attn, "v_proj", spec.hidden_size, kv, spec.attention_bias);
    layer.o = make_linear(attn, "o_proj", q, spec.hidden_size, spec.output_bias);
    if (family.qk_norm) {
        layer.q_norm = make_norm(attn, "q_norm", spec.head_dim);
        layer.k_norm = make_norm(attn, "k_norm", spec.head_dim);
    }
    layer.gate = make_linear(mlp, "gate_proj", spec.hidden_size, spec.intermediate_size, spec.mlp_bias);
    layer.up = make_linear(mlp, "up_proj", spec.hidden_size, spec.intermediate_size, spec.mlp_bias);
    layer.down = make_linear(mlp, "down_proj", spec.intermediate_size, spec.hidden_size, spec.mlp_bias);
    layer.input_norm = make_norm(prefix, "input_layernorm", spec.hidden_size);
    layer.post_attention_norm = make_norm(prefix, "post_attention_layernorm", spec.hidden_size);
    if (family.four_norms) {
        layer.pre_feedforward_norm = make_norm(prefix, "pre_feedforward_layernorm", spec.hidden_size);
        layer.post_feedforward_norm = make_norm(prefix, "post_feedforward_layernorm", spec.hidden_size);
    }
    return layer;
}

/// Collects the parameters that exist.
class Collector {
  public:
    void add(std::string name, Tensor& t, bool norm_or_bias, bool embedding = false) {
        if (t.defined()) out_.push_back({std::move(name), &t, norm_or_bias, embedding});
    }
    void add(Norm& n) { add(n.name + ".weight", n.weight, true); }
    void add(std::optional<Norm>& n) {
        if (n) add(*n);
    }
    void add(Linear& l) {
        add(l.name + ".weight", l.weight, false);
        add(l.name + ".bias", l.bias, true);
        if (!l.lora) return;
        add(l.name + ".lora_A.default.weight", l.lora->a, false);
        add(l.name + ".lora_B.default.weight", l.lora->b, false);
    }
    std::vector<NamedParameter> take() { return std::move(out_); }

  private:
    std::vector<NamedParameter> out_;
};

}  // namespace

Network make_network(const ModelSpec& spec) {
    const Family& family = family_of(spec.model_type);
    Network n;
    n.spec = &spec;
    n.embed.name = "model.embed_tokens";
    for (int i = 0; i < spec.num_hidden_layers; ++i) n.layers.push_back(make_layer(spec, family, i));
    n.norm = make_norm("model", "norm", spec.hidden_size);
    n.head.name = "lm_head";
    n.head.in = spec.hidden_size;
    n.head.out = spec.vocab_size;
    n.tied = spec.tie_word_embeddings;
    return n;
}

std::vector<NamedParameter> named_parameters(Network& n) {
    Collector c;
    c.add(n.embed.name + ".weight", n.embed.weight, false, true);
    if (n.embed.lora) {
        c.add(n.embed.name + ".lora_embedding_A", n.embed.lora->a, false);
        c.add(n.embed.name + ".lora_embedding_B", n.embed.lora->b, false);
    }
    for (DecoderLayer& l : n.layers) {
        for (Linear* linear : {&l.q, &l.k, &l.v, &l.o}) c.add(*linear);
        c.add(l.q_norm);
        c.add(l.k_norm);
        for (Linear* linear : {&l.gate, &l.up, &l.down}) c.add(*linear);
        c.add(l.input_norm);
        c.add(l.post_attention_norm);
        c.add(l.pre_feedforward_norm);
        c.add(l.post_feedforward_norm);
    }
    c.add(n.norm);
    if (n.tied) {
        Tensor shared = std::exchange(n.head.weight, {});
        c.add(n.head);
        n.head.weight = shared;
    } else {
        c.add(n.head);
    }
    return c.take();
}

std::vector<NamedParameter> trainable_parameters(Network& network) {
    std::vector<NamedParameter> all = named_parameters(network);
    std::erase_if(all, [](const NamedParameter& p) { return !p.tensor->requires_grad(); });
    return all;
}

std::vector<Linear*> linears(Network& network) {
    std::vector<Linear*> out;
    for (DecoderLayer& l : network.layers)
        for (Linear* linear : {&l.q, &l.k, &l.v, &l.o, &l.gate, &l.up, &l.down}) out.push_back(linear);
    out.push_back(&network.head);
    return out;
}

}  // namespace vramfit::model
