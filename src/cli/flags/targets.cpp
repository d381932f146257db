// The words of --targets: groups become the names of the network's own modules.
#include "cli/flags/targets.hpp"

#include <algorithm>

#include "cli/flags/values.hpp"
#include "vramfit/spec/modules.hpp"

namespace vramfit::cli {

namespace {

using Names = std::vector<std::string>;

void add(Names& names, std::string_view name) {
    if (std::find(names.begin(), names.end(), name) == names.end()) names.emplace_back(name);
}

bool is_group(std::string_view word) {
    return word == "attention" || word == "mlp" || word == "embedding" || word == "all-linear";
}

/// Whether the group holds the module. transformers calls the blocks self_attn, attn, attention; mlp, feed_forward.
bool holds(std::string_view group, const NamedModule& module) {
    const std::string_view name = module.name;
    if (group == "embedding") return module.kind == ModuleKind::embedding;
    if (!is_targetable(module.kind) || module.layer < 0) return false;
    const bool attention = name.find("attn.") != name.npos || name.find("attention.") != name.npos;
    return group == "all-linear" || (group == "attention") == attention;
}

void add_group(Names& names, std::string_view group, const ModelSpec& model) {
    for (const NamedModule& module : modules_of(model)) {
        if (holds(group, module)) add(names, std::string_view(module.name).substr(module.name.rfind('.') + 1));
    }
}

}  // namespace

TargetModules targets_from(std::string_view value, const ModelSpec& model, const std::string& where) {
    if (value == "all-linear" || value.find_first_of("*.|\\()[]^$+?") != value.npos) return std::string(value);
    Names names;
    for (const std::string& word : words_from(value, where)) {
        if (is_group(word))
            add_group(names, word, model);
        else
            add(names, word);
    }
    return names;
}

}  // namespace vramfit::cli
