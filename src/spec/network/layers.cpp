// Which modules of a recorded network are its decoder layers, and what stands around them.
#include <algorithm>
#include <charconv>
#include <iterator>
#include <map>
#include <set>

#include "spec/network/model.hpp"

namespace vramfit::network {

namespace {

/// XLM has a list for each part of its layers (transformers 5.17.0 modeling_xlm.py XLMModel.__init__).
constexpr std::string_view kAttentions = "attentions";

}  // namespace

// peft 0.21.2 utils/constants.py COMMON_LAYERS_PATTERN; transformers' names of lists of decoder layers.
int layer_of(std::string_view path) {
    constexpr std::string_view kLists[] = {"layers", "h", "blocks", "block", "layer", kAttentions};
    for (std::size_t at = 0; at < path.size();) {
        const std::size_t end = std::min(path.find('.', at), path.size());
        const std::string_view name = path.substr(at, end - at);
        at = end + 1;
        if (at >= path.size() || std::find(std::begin(kLists), std::end(kLists), name) == std::end(kLists)) continue;
        const std::string_view next = path.substr(at, std::min(path.find('.', at), path.size()) - at);
        int number = -1;
        const auto [rest, error] = std::from_chars(next.data(), next.data() + next.size(), number);
        if (error == std::errc() && rest == next.data() + next.size() && number >= 0 && number < 10'000) return number;
    }
    return -1;
}

bool is_inside(std::string_view path, std::string_view of) {
    return of.empty() || (path.starts_with(of) && (path.size() == of.size() || path[of.size()] == '.'));
}

namespace {

/// Modules by their class or by their place in a list of layers, those of towers too.
std::vector<std::string> all_layers(const Document& document) {
    std::vector<std::string> paths;
    const auto& classes = document.no_split_modules;
    for_each_kind(document, [&](const std::string& path, const ModuleKind& kind) {
        const std::size_t dot = std::min(path.rfind('.'), path.size());
        const bool named = std::find(classes.begin(), classes.end(), kind.class_name) != classes.end();
        // Zamba's layers with attention have one of a state space inside, which is checkpointed too.
        if (!paths.empty() && is_inside(path, paths.back())) return;
        if (kind.checkpointed || (named && layer_of(path) >= 0 && layer_of(path.substr(0, dot)) < 0))
            paths.push_back(path);
    });
    if (!paths.empty() || !classes.empty()) return paths;
    for_each_kind(document,
                  [&](const std::string& path, const ModuleKind&) {  // a class that names none: by place alone
                      const std::size_t dot = path.rfind('.');
                      if (dot != path.npos && layer_of(path) >= 0 && layer_of(path.substr(0, dot)) < 0)
                          paths.push_back(path);
                  });
    return paths;
}

/// As decoder_beside_towers, of all layers.
std::string decoder_among(const Document& document, const std::vector<std::string>& layers) {
    const std::size_t dot = document.input_embeddings.rfind('.');
    if (dot == document.input_embeddings.npos) return {};
    const std::string around = document.input_embeddings.substr(0, dot);
    const auto inside =
        std::count_if(layers.begin(), layers.end(), [&](const std::string& path) { return is_inside(path, around); });
    return inside > 0 && inside < std::ssize(layers) ? around : std::string();
}

/// What a module stands in: of a layer, its list.
std::string_view around(std::string_view path) { return path.substr(0, std::min(path.rfind('.'), path.size())); }

/// Towers inside of the decoder, as Phi-4-multimodal has them (`model.embed_tokens_extend`), beside the list of its own
/// layers.
void leave_towers_inside(const Document& document, std::vector<std::string>& layers) {
    const std::size_t dot = document.input_embeddings.rfind('.');
    const std::string_view decoder = around(document.input_embeddings);
    const auto is_own = [&](const std::string& path) {
        return dot != std::string::npos && around(around(path)) == decoder;
    };
    if (std::any_of(layers.begin(), layers.end(), is_own))
        std::erase_if(layers, [&](const std::string& path) { return !is_own(path); });
}

}  // namespace

std::string decoder_beside_towers(const Document& document) { return decoder_among(document, all_layers(document)); }

std::vector<std::string> decoder_layers(const Document& document) {
    std::vector<std::string> paths = all_layers(document);
    const std::string around = decoder_among(document, paths);
    std::erase_if(paths, [&](const std::string& path) { return !is_inside(path, around); });
    leave_towers_inside(document, paths);
    return paths;
}

bool has_several_lists(const Document& document) {
    const std::vector<std::string> layers = decoder_layers(document);
    return std::any_of(layers.begin(), layers.end(), [&](const std::string& layer) {
        return around(layer) != around(layers.front()) || around(layer).ends_with(kAttentions);
    });
}

std::string decoder_layer_class(const Document& document) {
    const std::vector<std::string> paths = decoder_layers(document);
    const std::set<std::string> layers(paths.begin(), paths.end());
    std::set<std::string> classes;
    for_each_kind(document, [&](const std::string& path, const ModuleKind& kind) {
        if (layers.contains(path)) classes.insert(kind.class_name);
    });
    return classes.size() == 1 ? *classes.begin() : std::string();
}

const std::vector<std::string>& unit_classes(const Document& document, const std::vector<std::string>& named) {
    return named.empty() ? document.no_split_modules : named;
}

std::string base_model(const Document& document) {
    std::string found;
    for (const std::string& path : decoder_layers(document)) {
        const std::string first = path.substr(0, path.find('.'));
        if (!found.empty() && first != found) return {};
        found = first;
    }
    for (const Child& child : document.kinds[document.root].children)
        if (child.name == found && layer_of(found + ".0") < 0) return found;
    return {};
}

std::string bias_of_head(const Document& document) {
    const std::string bias = document.output_embeddings + ".bias";
    for (const std::vector<std::string>& names : document.ties)
        if (names.size() == 2 && names.back() == bias) return names.front();
    return {};
}

std::vector<std::string> other_tables(const Document& document) {
    const std::string embedding = document.input_embeddings + ".weight", head = document.output_embeddings + ".weight";
    std::vector<std::string> found;
    for (const std::vector<std::string>& names : document.ties) {
        const auto has = [&](const std::string& name) {
            return std::find(names.begin(), names.end(), name) != names.end();
        };
        if (!has(embedding) || !has(head)) continue;
        for (const std::string& name : names)
            if (name != embedding && name != head) found.push_back(name.substr(0, name.rfind('.')));
    }
    return found;
}

std::map<std::string, std::string, std::less<>> shared_by_layers(const Document& document) {
    const std::vector<std::string> layers = decoder_layers(document);
    std::map<std::string, std::string, std::less<>> found;
    // The layer that a parameter is in, and its name there.
    const auto in_layer = [&](const std::string& name) {
        for (const std::string& layer : layers)
            if (name != layer && is_inside(name, layer)) return std::pair(layer, name.substr(layer.size()));
        return std::pair<std::string, std::string>();
    };
    for (const std::vector<std::string>& names : document.ties) {
        const std::pair<std::string, std::string> first = in_layer(names.front());
        const bool all = !first.first.empty() && std::all_of(names.begin(), names.end(), [&](const std::string& name) {
            return in_layer(name).second == first.second;
        });
        if (!all) continue;
        for (std::size_t i = 1; i < names.size(); ++i) found.emplace(names[i], names.front());
    }
    return found;
}

// The names are those of transformers' modeling files; OPT 350M has a projection in its place.
std::string behind_layers(const Document& document) {
    constexpr std::string_view kNames[] = {"norm",   "final_layernorm", "final_layer_norm", "ln_f",
                                           "norm_f", "embedding_norm",  "project_out",      "layer_norm"};
    const std::vector<std::string> layers = decoder_layers(document);
    if (layers.empty()) return {};
    const std::string list = layers.front().substr(0, layers.front().rfind('.'));
    const std::string around = list.substr(0, list.rfind('.') + 1);
    std::set<std::string> there;
    for_each_kind(document, [&](const std::string& path, const ModuleKind&) { there.insert(path); });
    for (const std::string_view name : kNames)
        if (std::string path = fmt::format("{}{}", around, name); there.contains(path)) return path;
    return {};
}

// accelerate 1.15 utils/fsdp_utils.py _find_final_norm.
std::string final_norm(const Document& document) {
    const std::string base = base_model(document);
    std::string found;
    for_each_kind(document, [&](const std::string& path, const ModuleKind& kind) {
        const std::size_t dot = path.rfind('.');
        const bool is_child =
            base.empty() ? dot == path.npos && !path.empty() : dot != path.npos && path.substr(0, dot) == base;
        if (is_child && kind.class_name.find("Norm") != std::string::npos) found = path;
    });
    return found;
}

bool has_norm_before_head(const Document& document) {
    const std::vector<std::string> layers = decoder_layers(document);
    if (layers.empty()) return false;
    const std::string list = layers.front().substr(0, layers.front().rfind('.'));
    const std::string around = list.substr(0, std::min(list.rfind('.'), list.size()));
    bool found = false;
    for_each_kind(document, [&](const std::string& path, const ModuleKind& kind) {
        const std::size_t dot = path.rfind('.');
        const bool is_beside = dot != path.npos && path.substr(0, dot) == around;
        found |= is_beside && kind.class_name.find("Norm") != std::string::npos;
    });
    return found;
}

}  // namespace vramfit::network
