// Parameters that are one tensor: the head's and the embedding's, and those that layers share.
#include <map>

#include <fmt/format.h>

#include "model/network/network.hpp"
#include "spec/network/model.hpp"
#include "vramfit/base/error.hpp"

namespace vramfit::model {

Tensor* bias_of_head(Network& network) {
    if (network.bias_of_head.empty()) return nullptr;
    for (BareModule* module : bare_modules(network))
        for (std::size_t i = 0; i < module->parameters.size(); ++i)
            if (network::path_inside(module->name, module->parameters[i].name) == network.bias_of_head)
                return &module->tensors[i];
    return nullptr;
}

namespace {

/// Layers come in order: what they share is there with the first of them.
void tie_layers(Network& network) {
    if (network.shared.empty()) return;
    std::map<std::string, Tensor, std::less<>> all;
    const auto tie = [&](const std::string& module, std::string_view parameter, Tensor& tensor) {
        std::string name = network::path_inside(module, parameter);
        const auto first = network.shared.find(name);
        if (first != network.shared.end()) {
            const auto source = all.find(first->second);
            if (source == all.end() || (tensor.defined() && source->second.sizes() != tensor.sizes()))
                throw Error(
                    ErrorKind::invalid, name,
                    fmt::format("it is one tensor with {}, which is not there before it in this shape", first->second),
                    "record the network again (tools/record)");
            tensor = source->second;
        }
        all.emplace(std::move(name), tensor);
    };
    const auto weight_and_bias = [&](auto& module) {
        tie(module.name, "weight", module.weight);
        if (module.has_bias) tie(module.name, "bias", module.bias);
    };
    for_each_module(network, Overloaded{[&](Linear& linear) { weight_and_bias(linear); },
                                        [&](Norm& norm) { weight_and_bias(norm); }, [](Embedding&) {},
                                        [&](BareModule& bare) {
                                            for (std::size_t i = 0; i < bare.tensors.size(); ++i)
                                                tie(bare.name, bare.parameters[i].name, bare.tensors[i]);
                                        }});
}

}  // namespace

void tie_head(Network& network) {
    tie_layers(network);
    if (network.tied) network.head.weight = network.embed.weight;
    if (const Tensor* const bias = bias_of_head(network)) network.head.bias = *bias;
}

}  // namespace vramfit::model
