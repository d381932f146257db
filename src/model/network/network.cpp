// The modules of a decoder in the order of their registration (transformers modeling_*.py __init__).
#include "model/network/network.hpp"

#include <algorithm>
#include <utility>

#include "spec/network/model.hpp"
#include "vramfit/spec/size_units.hpp"

namespace vramfit::model {

namespace {

Linear make_linear(const NamedModule& module) {
    Linear l;
    l.name = module.name;
    l.published = module.published.empty() ? module.name : module.published;
    l.in = module.in;
    l.out = module.out;
    l.has_bias = module.bias;
    l.is_conv1d = module.kind == ModuleKind::conv1d;
    return l;
}

Norm make_norm(const NamedModule& module) { return {module.name, module.out, module.bias, false, false, {}, {}, {}}; }

Embedding make_embedding(const NamedModule& module) {
    Embedding e;
    e.name = module.name;
    e.rows = module.in;
    e.width = module.out;
    return e;
}

BareModule make_bare(const NamedModule& module) {
    BareModule bare;
    bare.name = module.name;
    bare.published = module.published.empty() ? module.name : module.published;
    bare.parameters = module.parameters;
    bare.tensors.resize(bare.parameters.size());
    bare.lora.resize(bare.parameters.size());
    return bare;
}

void add_to_layer(DecoderLayer& layer, const NamedModule& module) {
    if (Linear* linear = linear_at(layer, module.part))
        *linear = make_linear(module);
    else if (Norm* norm = norm_at(layer, module.part))
        *norm = make_norm(module);
    else if (BareModule* bare = bare_at(layer, module.part))
        *bare = make_bare(module);
    else
        return;
    layer.order.push_back(module.part);
}

void set_piece(NamedParameter& parameter, std::int64_t pieces) {
    parameter.pieces = pieces;
    parameter.is_dtensor = pieces > 1;
}

/// Collects the parameters that exist, a shared one once.
class Collector {
  public:
    /// `left`: names of parameters that are listed under another one.
    Collector(bool with_packed, const std::map<std::string, std::string, std::less<>>* left)
        : with_packed_(with_packed), left_(left) {}

    void add(Norm& n) {
        const Place place{n.name, originals(n.name, n.original, false)};
        add(place, "weight", n.weight, n.has_bias || n.is_layer_norm);
        add(place, "bias", n.bias, n.has_bias);
    }
    void add(Linear& l) {
        const Place place{l.name, originals(l.name, l.original, false)};
        const std::size_t first = out_.size();
        add(place, "weight", l.weight);
        if (with_packed_ && l.quantized) add(place, "weight", l.quantized->packed);
        if (with_packed_ && l.in_8bit) add(place, "weight", l.in_8bit->stored());
        add(place, "bias", l.bias);
        for (std::size_t i = first; i < out_.size(); ++i) {
            out_[i].is_dtensor = l.cut != Cut::none;
            out_[i].pieces = cuts_inputs(l.cut) && out_[i].tensor == &l.bias ? 1 : l.pieces;
        }
        if (l.other)
            for (const TiedTensor& tied : l.other->tied)
                if (tied.first) add(place, tied.name, (*l.other->shared)[tied.place]);
        if (l.other)
            for (AddedTensor& added : l.other->parameters) add(place, added.name, added.tensor);
        if (l.other && !l.other->shared_name.empty() && !std::exchange(has_shared_, true))
            add(place, l.other->shared_name, l.other->shared->front());
        if (l.other) mark_adapted(first);
        if (!l.lora) return;
        add(place, "lora_A.default.weight", l.lora->a);
        if (l.cut == Cut::rows) set_piece(out_.back(), l.pieces);
        add(place, "lora_B.default.weight", l.lora->b);
        if (l.cut == Cut::columns) set_piece(out_.back(), l.pieces);
        add(place, "lora_B.default.bias", l.lora->bias);
        add(place, "lora_magnitude_vector.default.weight", l.lora->magnitude);
        mark_adapted(first);
    }
    void add(Embedding& e) {
        const Place place{e.name, originals(e.name, e.original, true)};
        const std::size_t first = out_.size();
        add(place, "weight", e.weight, false, true);
        for (std::size_t i = first; i < out_.size(); ++i) set_piece(out_[i], e.pieces);
        if (e.tokens) add(place, "trainable_tokens_delta.default", e.tokens->delta);
        if (!e.lora) return;
        add(place, "lora_embedding_A", e.lora->a);
        add(place, "lora_embedding_B", e.lora->b);
        add(place, "lora_magnitude_vector.default.weight", e.lora->magnitude);
        mark_adapted(first);
    }
    /// A weight that stands in an nn.Embedding as well.
    void name_embedding(const Tensor& weight) {
        for (NamedParameter& p : out_) p.embedding |= p.tensor == &weight;
    }
    /// Not to be listed again.
    void share(const Tensor& t) {
        if (t.defined()) shared_.push_back(t);
    }
    void add(BareModule& m) {
        const Place place{m.name, {}};
        const std::size_t first = out_.size();
        for (std::size_t i = 0; i < m.tensors.size(); ++i) add(place, m.parameters[i].name, m.tensors[i]);
        for (std::size_t i = first; i < out_.size(); ++i) set_piece(out_[i], m.pieces);
        for (auto& lora : m.lora) {
            if (!lora) continue;
            add(place, "lora_A.default.weight", lora->a);
            add(place, "lora_B.default.weight", lora->b);
        }
    }
    void add(PromptEncoder& encoder) {
        for (AddedTensor& added : encoder.parameters)
            add(Place{"prompt_encoder.default", {}}, added.name, added.tensor);
    }
    std::vector<NamedParameter> take() { return std::move(out_); }

  private:
    /// Where a parameter stands: its module and what peft puts behind it.
    struct Place {
        std::string_view module;
        std::string_view wrapper;
    };

    void add(const Place& place, std::string_view parameter, Tensor& t, bool layer_norm = false,
             bool embedding = false) {
        if (left_ && !left_->empty() && left_->contains(network::path_inside(place.module, parameter))) return;
        if (t.defined() && std::find(shared_.begin(), shared_.end(), t) == shared_.end())
            out_.push_back({place.module, place.wrapper, parameter, &t, layer_norm, embedding});
    }
    /// ModulesToSaveWrapper, LNTuningLayer: the original comes before the copy. Returns the copy's wrapper.
    std::string_view originals(std::string_view name, std::optional<OriginalModule>& original, bool embedding) {
        if (!original) return {};
        const Place place{name, original->place};
        add(place, "weight", original->weight, false, embedding);
        add(place, "bias", original->bias);
        return original->place_of_copy;
    }
    void mark_adapted(std::size_t first) {
        for (std::size_t i = first; i < out_.size(); ++i) out_[i].adapted = true;
    }

    bool with_packed_;
    const std::map<std::string, std::string, std::less<>>* left_;
    bool has_shared_ = false;  ///< what adapters share is in the list
    std::vector<NamedParameter> out_;
    std::vector<Tensor> shared_;
};

}  // namespace

std::string NamedParameter::name() const {
    std::string out;
    out.reserve(module.size() + wrapper.size() + 1 + parameter.size());
    return out.append(module).append(wrapper).append(1, '.').append(parameter);
}

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
        case ModulePart::shared_gate: return &layer.shared_gate;
        case ModulePart::shared_up: return &layer.shared_up;
        case ModulePart::shared_down: return &layer.shared_down;
        case ModulePart::shared_expert_gate: return &layer.shared_expert_gate;
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

BareModule* bare_at(DecoderLayer& layer, ModulePart part) {
    switch (part) {
        case ModulePart::attention: return &layer.attention_parameters;
        case ModulePart::router: return &layer.router;
        case ModulePart::experts: return &layer.experts;
        default: return nullptr;
    }
}

LayerKinds layer_kinds(const ModelSpec& spec) {
    LayerKinds kinds;
    for (const LayerAttention type : spec.layer_types)
        (type == LayerAttention::sliding ? kinds.sliding : kinds.full) = true;
    return kinds;
}

namespace {

/// The list of leaves of a recorded network.
void add_leaf(Network& n, const NamedModule& module) {
    switch (module.kind) {
        case ModuleKind::linear:
        case ModuleKind::conv1d:
            if (module.part == ModulePart::head) {
                n.head = make_linear(module);
                n.leaves.emplace_back(Member::head);
            } else {
                n.leaves.emplace_back(make_linear(module));
            }
            break;
        case ModuleKind::embedding:
            if (module.part == ModulePart::embedding) {
                n.embed = make_embedding(module);
                n.leaves.emplace_back(Member::embedding);
            } else {
                n.leaves.emplace_back(make_embedding(module));
            }
            break;
        case ModuleKind::norm: n.leaves.emplace_back(make_norm(module)); break;
        case ModuleKind::bare: n.leaves.emplace_back(make_bare(module)); break;
        case ModuleKind::other: break;
    }
}

/// All of them, and which are those of each decoder layer: they follow each other.
void add_leaves(Network& n, const network::Document& recording) {
    const std::vector<std::string> layers = network::decoder_layers(recording);
    std::size_t next = 0;
    for (const NamedModule& module : network::modules_in(recording)) {
        if (next < layers.size() && module.name == layers[next]) {
            n.leaf_layers.push_back({n.leaves.size(), n.leaves.size(), layers[next]});
            ++next;
        }
        add_leaf(n, module);
        if (!n.leaf_layers.empty() && is_inside(module.name, n.leaf_layers.back().path))
            n.leaf_layers.back().end = n.leaves.size();
    }
}

}  // namespace

Norm* final_norm(Network& network) {
    if (network.leaves.empty()) return &network.norm;
    const std::string path = network::final_norm(*network.spec->recording);
    Norm* found = nullptr;
    for (Norm* norm : norms(network))
        if (norm->name == path) found = norm;
    return found;
}

Network make_network(const ModelSpec& spec) {
    Network n;
    n.spec = &spec;
    n.tied = spec.tie_word_embeddings;
    if (spec.recording) {
        n.bias_of_head = network::bias_of_head(*spec.recording);
        n.shared = network::shared_by_layers(*spec.recording);
        add_leaves(n, *spec.recording);
        return n;
    }
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
    return n;
}

namespace {

std::vector<NamedParameter> collect(Network& n, bool with_packed, bool once = true) {
    Collector c(with_packed, once ? &n.shared : nullptr);
    const Tensor* const bias = once ? bias_of_head(n) : nullptr;
    const auto share = [&](const auto& module) {
        if (!n.tied || !once) return;
        if (module.original) c.share(module.original->weight);
        c.share(module.weight);
    };
    for_each_module(n, Overloaded{[&](auto& module) { c.add(module); },
                                  [&](Embedding& table) {
                                      c.add(table);
                                      if (&table == &n.embed) share(table);
                                  },
                                  [&](BareModule& bare) {
                                      c.add(bare);
                                      for (const Tensor& tensor : bare.tensors)
                                          if (&tensor == bias) c.share(tensor);
                                  },
                                  [&](Linear& linear) {
                                      c.add(linear);
                                      if (&linear != &n.head) return;
                                      if (linear.weight == n.embed.weight) c.name_embedding(linear.weight);
                                      share(linear);
                                  }});
    if (n.prompt) c.add(*n.prompt);
    return c.take();
}

}  // namespace

std::vector<NamedParameter> named_parameters(Network& n) { return collect(n, false); }

std::vector<NamedParameter> named_states(Network& n) { return collect(n, true); }

std::vector<NamedParameter> state_dict_entries(Network& n) { return collect(n, false, false); }

std::vector<NamedParameter> trainable_parameters(Network& network) {
    std::vector<NamedParameter> all = named_parameters(network);
    std::erase_if(all, [](const NamedParameter& p) { return !p.tensor->requires_grad(); });
    return all;
}

std::vector<Linear*> linears(DecoderLayer& layer) {
    std::vector<Linear*> out;
    for_each_module(
        layer, [&out](Linear& l) { out.push_back(&l); }, [](Norm&) {}, [](BareModule&) {});
    return out;
}

namespace {

template <class Module>
std::vector<Module*> modules_of_type(Network& network) {
    std::vector<Module*> out;
    for_each_module(network, Overloaded{[](auto&) {}, [&out](Module& module) { out.push_back(&module); }});
    return out;
}

}  // namespace

std::vector<Linear*> linears(Network& network) { return modules_of_type<Linear>(network); }

std::vector<Norm*> norms(Network& network) { return modules_of_type<Norm>(network); }

std::vector<Embedding*> embeddings(Network& network) { return modules_of_type<Embedding>(network); }

std::vector<BareModule*> bare_modules(Network& network) { return modules_of_type<BareModule>(network); }

}  // namespace vramfit::model
