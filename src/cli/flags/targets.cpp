// The words of --targets: groups become the names of the network's own modules.
#include "cli/flags/targets.hpp"

#include <algorithm>

#include "cli/flags/values.hpp"
#include "vramfit/base/error.hpp"
#include "vramfit/spec/modules.hpp"

namespace vramfit::cli {

namespace {

/// peft 0.21.2 tuners/tuners_utils.py inject_adapter takes a list of which at least one name matches, and leaves the
/// others without a word: a name that was typed by hand is then a mistake.
void refuse_unmatched(const std::string& name, const ModelSpec& model, const std::string& where) {
    LoraPlan plan;
    plan.target_modules = std::vector{name};
    if (!lora_targets(model, plan).empty()) return;
    const std::vector<std::string> names = targetable_names(model);
    const std::vector<std::string_view> known(names.begin(), names.end());
    const std::string closest = nearest(name, known);
    throw Error(
        ErrorKind::invalid, where, fmt::format("'{}' matches no module", name),
        fmt::format("{}the network has {}; \"all-linear\" means all but the head",
                    closest.empty() ? closest : fmt::format("did you mean '{}'? ", closest), fmt::join(names, ", ")));
}

}  // namespace

TargetModules targets_from(std::string_view value, const ModelSpec& model, const std::string& where) {
    if (value == "all-linear" || value.find_first_of("*.|\\()[]^$+?") != value.npos) return std::string(value);
    std::vector<std::string> names;
    for (const std::string& word : words_from(value, where)) {
        if (!is_module_group(word)) refuse_unmatched(word, model, where);
        for (const std::string& name : is_module_group(word) ? group_names(model, word) : std::vector{word}) {
            if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
        }
    }
    return names;
}

}  // namespace vramfit::cli
