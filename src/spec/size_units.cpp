// torch 2.11.0, distributed/fsdp/wrap.py size_based_auto_wrap_policy, _recursive_wrap.
#include "vramfit/spec/size_units.hpp"

#include <algorithm>
#include <string_view>

#include "base/split.hpp"
#include "vramfit/base/checked.hpp"
#include "vramfit/spec/config.hpp"
#include "vramfit/spec/modules.hpp"

namespace vramfit {

namespace {

struct Module {
    std::string name;
    std::int64_t parameters = 0;  ///< of it and all inside
    std::vector<Module> children;
};

Module& child_of(Module& parent, std::string_view part) {
    std::string name = parent.name.empty() ? std::string(part) : parent.name + "." + std::string(part);
    for (Module& child : parent.children)
        if (child.name == name) return child;
    parent.children.push_back({std::move(name), 0, {}});
    return parent.children.back();
}

Module tree_of(const ModelSpec& model) {
    Module root;
    for (const NamedModule& module : modules_of(model)) {
        const std::int64_t parameters = parameters_in(module);
        Module* at = &root;
        const bool shared = module.part == ModulePart::head && model.tie_word_embeddings;
        if (!shared) at->parameters = checked_add(at->parameters, parameters);
        for (const std::string_view part : split(module.name, '.')) {
            at = &child_of(*at, part);
            at->parameters = checked_add(at->parameters, parameters);
        }
    }
    return root;
}

/// EXCLUDE_WRAP_MODULES: nn.ModuleList, whose children are numbered.
bool is_list(const Module& module) {
    if (module.children.empty()) return false;
    const std::string_view first = std::string_view(module.children[0].name).substr(module.name.size() + 1);
    return std::all_of(first.begin(), first.end(), [](char c) { return c >= '0' && c <= '9'; });
}

/// _recursive_wrap. Returns how many parameters are in units.
std::int64_t wrap(const Module& module, std::int64_t least, bool is_root, std::vector<std::string>& units) {
    if (module.parameters < least) return 0;
    std::int64_t wrapped = 0;
    for (const Module& child : module.children) wrapped += wrap(child, least, false, units);
    if (is_root || is_list(module) || module.parameters - wrapped < least) return wrapped;
    units.push_back(module.name);
    return module.parameters;
}

}  // namespace

std::vector<std::string> size_units(const ModelSpec& model, std::int64_t min_num_params) {
    std::vector<std::string> units;
    wrap(tree_of(model), min_num_params, true, units);
    return units;
}

bool is_inside(std::string_view name, std::string_view module) {
    return module.empty() || (name.starts_with(module) && (name.size() == module.size() || name[module.size()] == '.'));
}

}  // namespace vramfit
