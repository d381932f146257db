// How many weights a network has.
#include "spec/config_family.hpp"
#include "vramfit/base/checked.hpp"
#include "vramfit/spec/config.hpp"
#include "vramfit/spec/modules.hpp"

namespace vramfit {

namespace {

std::int64_t parameters(const NamedModule& module) {
    const std::int64_t weights = module.kind == ModuleKind::norm ? module.out : checked_mul(module.in, module.out);
    return module.bias ? checked_add(weights, module.out) : weights;
}

/// The weights of the modules inside and outside of the decoder layers, of a network with one layer.
std::int64_t sum(const ModelSpec& model, bool in_layers) {
    ModelSpec one = model;
    one.num_hidden_layers = 1;
    std::int64_t sum = 0;
    for (const NamedModule& module : modules_of(one)) {
        if ((module.layer >= 0) != in_layers) continue;
        if (module.part == ModulePart::head && model.tie_word_embeddings) continue;
        sum = checked_add(sum, parameters(module));
    }
    return sum;
}

}  // namespace

Version family_since(std::string_view model_type) { return known_family(model_type).since; }

Version family_exact_since(std::string_view model_type) { return known_family(model_type).exact_since; }

std::int64_t layer_parameters(const ModelSpec& model) { return sum(model, true); }

std::int64_t total_parameters(const ModelSpec& model) {
    return checked_add(sum(model, false), checked_mul(model.num_hidden_layers, layer_parameters(model)));
}

}  // namespace vramfit
