// Units by size: torch 2.11 distributed/fsdp/wrap.py size_based_auto_wrap_policy over a network without adapters.
#include <algorithm>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "model/parallel/fsdp1/fsdp1.hpp"
#include "model/parallel/fsdp1/unit_parameters.hpp"
#include "vramfit/base/error.hpp"
#include "vramfit/spec/size_units.hpp"

namespace vramfit::model {

using namespace engine;

namespace {

/// A module with parameters of its own.
struct Leaf {
    std::string_view name;
    ModuleKey key;
    std::vector<Tensor*> parameters;
};

/// In order of registration.
std::vector<Leaf> leaves_of(Network& network) {
    std::vector<Leaf> out;
    const auto linear = [&](Linear& m) { out.push_back({m.name, key_of(&m, Part::itself), {&m.weight, &m.bias}}); };
    const auto norm = [&](Norm& m) { out.push_back({m.name, key_of(&m, Part::itself), {&m.weight, &m.bias}}); };
    const auto embedding = [&](Embedding& m) { out.push_back({m.name, key_of(&m, Part::itself), {&m.weight}}); };
    embedding(network.embed);
    if (network.positions.weight.defined()) embedding(network.positions);
    for (DecoderLayer& layer : network.layers) {
        const auto bare = [&](BareModule& m) {
            const bool is_attention = &m == &layer.attention_parameters;
            out.push_back({m.name, is_attention ? key_of(&layer, Part::attention) : key_of(&m, Part::itself), {}});
            for (Tensor& t : m.tensors) out.back().parameters.push_back(&t);
        };
        for_each_module(layer, linear, norm, bare);
    }
    norm(network.norm);
    linear(network.head);
    return out;
}

/// "model.layers.3.mlp" -> "model.layers.3".
std::string_view parent_of(std::string_view name) { return name.substr(0, name.rfind('.')); }

/// A unit's module.
struct UnitPlace {
    const DecoderLayer* layer = nullptr;  ///< it is a decoder layer; otherwise:
    ModuleKey key;
};

[[noreturn]] void refuse(const std::string& unit) {
    throw Error(ErrorKind::unsupported, "distributed.fsdp_config.min_num_params",
                fmt::format("{} as a unit is not supported", unit), "a larger number, or TRANSFORMER_BASED_WRAP");
}

/// Throws Error (unsupported) for a module that has no hooks: routers and experts of most families, and the expert that
/// all tokens see.
UnitPlace place_of(const std::string& unit, const Network& network, const std::vector<Leaf>& leaves) {
    const bool calls_experts = network.spec->model_type == "gpt_oss";
    for (const DecoderLayer& layer : network.layers)
        if (!calls_experts && (unit == layer.router.name || unit == layer.experts.name)) refuse(unit);
    for (const Leaf& leaf : leaves)
        if (leaf.name == unit) return {nullptr, leaf.key};
    for (const DecoderLayer& layer : network.layers) {
        const std::string_view output = layer.o.name;
        const std::string_view attention = parent_of(output), whole = parent_of(attention);
        if (!is_inside(unit, whole)) continue;
        if (unit == whole) return {&layer, {}};
        if (unit == attention) return {nullptr, key_of(&layer, Part::attention)};
        if (parent_of(unit) == whole) return {nullptr, key_of(&layer, Part::mlp)};
        refuse(unit);
    }
    return {nullptr, key_of(&network, Part::decoder)};
}

}  // namespace

void Fsdp1::wrap_by_size() {
    const std::vector<std::string> units = size_units(run_.spec, shared_.plan.min_num_params);
    const std::vector<Leaf> leaves = leaves_of(network_);
    std::vector<bool> taken(leaves.size(), false);
    const auto take = [&](std::string_view module) {
        UnitParameters parameters;
        for (std::size_t i = 0; i < leaves.size(); ++i) {
            if (taken[i] || !is_inside(leaves[i].name, module)) continue;
            taken[i] = true;
            for (Tensor* t : leaves[i].parameters) parameters.add(depth_of(leaves[i].name) - depth_of(module), *t);
        }
        return parameters;
    };
    Buffers of_root{.scale = &scale(), .rotary = true};
    std::vector<std::pair<std::size_t, Fsdp1Unit*>> ordered;
    layers_.resize(network_.layers.size());
    for (const std::string& name : units) {
        const UnitParameters parameters = take(name);
        const UnitPlace place = place_of(name, network_, leaves);
        Buffers buffers;
        if (place.layer) buffers.layer = static_cast<std::size_t>(place.layer->index);
        const bool is_decoder = place.key == key_of(&network_, Part::decoder);
        if (is_decoder) buffers.rotary = std::exchange(of_root.rotary, false);
        if (is_inside(network_.embed.name, name)) buffers.scale = std::exchange(of_root.scale, nullptr);
        auto unit = wrap(parameters.all(), parameters.to_move(), buffers, false);
        const auto first =
            std::find_if(leaves.begin(), leaves.end(), [&](const Leaf& leaf) { return is_inside(leaf.name, name); });
        ordered.emplace_back(first - leaves.begin(), unit.get());
        if (place.layer)
            layers_[static_cast<std::size_t>(place.layer->index)] = std::move(unit);
        else
            single_.emplace(place.key, std::move(unit));
    }
    // A module stands before those inside of it, which were wrapped before.
    std::reverse(ordered.begin(), ordered.end());
    std::stable_sort(ordered.begin(), ordered.end(), [](const auto& x, const auto& y) { return x.first < y.first; });
    for (const auto& [leaf, unit] : ordered) all_.push_back(unit);
    set_root(take(""), of_root);  // which may have nothing of its own
}

}  // namespace vramfit::model
