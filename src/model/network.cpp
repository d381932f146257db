// The modules of a decoder in the order of their registration (transformers modeling_*.py __init__).
#include "model/network.hpp"

#include <utility>

namespace vramfit::model {

namespace {

Linear make_linear(const NamedModule& module) {
    Linear l;
    l.name = module.name;
    l.in = module.in;
    l.out = module.out;
    l.has_bias = module.bias;
    l.is_conv1d = module.kind == ModuleKind::conv1d;
    return l;
}

Norm make_norm(const NamedModule& module) { return {module.name, module.out, module.bias, {}, {}}; }

Embedding make_embedding(const NamedModule& module) {
    Embedding e;
    e.name = module.name;
    e.rows = module.in;
    return e;
}

void add_to_layer(DecoderLayer& layer, const NamedModule& module) {
    if (Linear* linear = linear_at(layer, module.part))
        *linear = make_linear(module);
    else if (Norm* norm = norm_at(layer, module.part))
        *norm = make_norm(module);
    else
        return;
    layer.order.push_back(module.part);
}

/// Collects the parameters that exist.
class Collector {
  public:
    void add(std::string name, Tensor& t, bool layer_norm = false, bool embedding = false) {
        if (t.defined()) out_.push_back({std::move(name), &t, layer_norm, embedding});
    }
    void add(Norm& n) {
        add(n.name + ".weight", n.weight, n.has_bias);
        add(n.name + ".bias", n.bias, n.has_bias);
    }
    void add(Linear& l) {
        add(l.name + ".weight", l.weight);
        add(l.name + ".bias", l.bias);
        if (!l.lora) return;
        add(l.name + ".lora_A.default.weight", l.lora->a);
        add(l.name + ".lora_B.default.weight", l.lora->b);
    }
    std::vector<NamedParameter> take() { return std::move(out_); }

  private:
    std::vector<NamedParameter> out_;
};

}  // namespace

Linear* linear_at(DecoderLayer& layer, ModulePart part) {
    switch (part) {
        case ModulePart::query: return &layer.q;
        case ModulePart::key: return &layer.k;
        case ModulePart::value: return &layer.v;
        case ModulePart::query_key_value: return &layer.qkv;
        case ModulePart::output: return &layer.o;
        case ModulePart::gate: return &layer.gate;
        case ModulePart::up: return &layer.up;
        case ModulePart::gate_up: return &layer.gate_up;
        case ModulePart::down: return &layer.down;
        default: return nullptr;
    }
}

Norm* norm_at(DecoderLayer& layer, ModulePart part) {
    switch (part) {
        case ModulePart::query_norm: return &layer.q_norm;
        case ModulePart::key_norm: return &layer.k_norm;
        case ModulePart::input_norm: return &layer.input_norm;
        case ModulePart::post_attention_norm: return &layer.post_attention_norm;
        case ModulePart::pre_feedforward_norm: return &layer.pre_feedforward_norm;
        case ModulePart::post_feedforward_norm: return &layer.post_feedforward_norm;
        default: return nullptr;
    }
}

LayerKinds layer_kinds(const ModelSpec& spec) {
    LayerKinds kinds;
    for (const LayerAttention type : spec.layer_types)
        (type == LayerAttention::sliding ? kinds.sliding : kinds.full) = true;
    return kinds;
}

Network make_network(const ModelSpec& spec) {
    Network n;
    n.spec = &spec;
    n.layers.resize(static_cast<std::size_t>(spec.num_hidden_layers));
    for (std::size_t i = 0; i < n.layers.size(); ++i) {
        n.layers[i].index = static_cast<std::int16_t>(i);
        if (!spec.layer_types.empty()) n.layers[i].attention = spec.layer_types[i];
        if (!spec.no_rope_layers.empty()) n.layers[i].turns = spec.no_rope_layers[i] != 0;
    }
    for (const NamedModule& module : modules_of(spec)) {
        if (module.layer >= 0) add_to_layer(n.layers[static_cast<std::size_t>(module.layer)], module);
        if (module.part == ModulePart::embedding) n.embed = make_embedding(module);
        if (module.part == ModulePart::positions) n.positions = make_embedding(module);
        if (module.part == ModulePart::final_norm) n.norm = make_norm(module);
        if (module.part == ModulePart::head) n.head = make_linear(module);
    }
    n.tied = spec.tie_word_embeddings;
    return n;
}

namespace {

void collect(Collector& c, Embedding& embedding) {
    c.add(embedding.name + ".weight", embedding.weight, false, true);
    if (!embedding.lora) return;
    c.add(embedding.name + ".lora_embedding_A", embedding.lora->a);
    c.add(embedding.name + ".lora_embedding_B", embedding.lora->b);
}

}  // namespace

std::vector<NamedParameter> named_parameters(Network& n) {
    Collector c;
    const auto add = [&c](auto& module) { c.add(module); };
    collect(c, n.embed);
    collect(c, n.positions);
    for (DecoderLayer& l : n.layers) for_each_module(l, add, add);
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

std::vector<Linear*> linears(DecoderLayer& layer) {
    std::vector<Linear*> out;
    for_each_module(
        layer, [&out](Linear& l) { out.push_back(&l); }, [](Norm&) {});
    return out;
}

std::vector<Linear*> linears(Network& network) {
    std::vector<Linear*> out;
    for (DecoderLayer& layer : network.layers)
        for (Linear* linear : linears(layer)) out.push_back(linear);
    out.push_back(&network.head);
    return out;
}

}  // namespace vramfit::model
