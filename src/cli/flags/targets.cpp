// The words of --targets: groups become the names of the network's own modules.
#include "cli/flags/targets.hpp"

#include <algorithm>

#include "cli/flags/values.hpp"
#include "vramfit/spec/modules.hpp"

namespace vramfit::cli {

TargetModules targets_from(std::string_view value, const ModelSpec& model, const std::string& where) {
    if (value == "all-linear" || value.find_first_of("*.|\\()[]^$+?") != value.npos) return std::string(value);
    std::vector<std::string> names;
    for (const std::string& word : words_from(value, where)) {
        for (const std::string& name : is_module_group(word) ? group_names(model, word) : std::vector{word}) {
            if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
        }
    }
    return names;
}

}  // namespace vramfit::cli
