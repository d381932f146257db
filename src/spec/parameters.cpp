// How many weights a network has.
#include "spec/config_family.hpp"
#include "spec/network/model.hpp"
#include "vramfit/base/checked.hpp"
#include "vramfit/spec/config.hpp"
#include "vramfit/spec/modules.hpp"

namespace vramfit {

std::int64_t parameters_in(const NamedModule& module) {
    if (module.kind == ModuleKind::bare) {
        std::int64_t sum = 0;
        for (const BareParameter& p : module.parameters) {
            std::int64_t count = 1;
            for (const std::int64_t size : p.sizes) count = checked_mul(count, size);
            sum = checked_add(sum, count);
        }
        return sum;
    }
    const std::int64_t weights = module.kind == ModuleKind::norm ? module.out : checked_mul(module.in, module.out);
    return module.bias ? checked_add(weights, module.out) : weights;
}

namespace {

/// The weights of the modules inside and outside of the first decoder layers.
std::int64_t sum(const ModelSpec& model, std::int64_t layers, bool in_layers) {
    ModelSpec first = model;
    first.num_hidden_layers = layers;
    std::int64_t sum = 0;
    std::map<std::string, std::string, std::less<>> shared;
    if (model.recording) shared = network::shared_by_layers(*model.recording);
    for (const NamedModule& module : modules_of(first)) {
        if ((module.layer >= 0) != in_layers || module.layer >= layers) continue;
        if (module.part == ModulePart::head && model.tie_word_embeddings) continue;
        const auto of_module = shared.lower_bound(module.name + ".");  // all that it has is in a layer before it
        if (of_module != shared.end() && of_module->first.starts_with(module.name + ".") && parameters_in(module) > 0)
            continue;
        sum = checked_add(sum, parameters_in(module));
    }
    return sum;
}

}  // namespace

Version family_since(std::string_view model_type) { return known_family(model_type).since; }

Version family_exact_since(std::string_view model_type) { return known_family(model_type).exact_since; }

std::int64_t layer_parameters(const ModelSpec& model) { return sum(model, 1, true); }

std::int64_t total_parameters(const ModelSpec& model) {
    // Layers of a mixture are not all alike.
    const std::int64_t layers = model.mixture || model.recording
                                    ? sum(model, model.num_hidden_layers, true)
                                    : checked_mul(model.num_hidden_layers, layer_parameters(model));
    return checked_add(sum(model, 1, false), layers);
}

}  // namespace vramfit
