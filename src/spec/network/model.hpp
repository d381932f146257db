// A recorded network as a model that commands are asked about: its sizes, and its modules in order of registration.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "spec/network/document.hpp"
#include "vramfit/spec/model_spec.hpp"
#include "vramfit/spec/modules.hpp"

namespace vramfit::network {

/// Whether the text is meant to be a recording.
bool is_network(std::string_view text);

/// The model of a recording. `name` becomes ModelSpec::name. Throws Error (unsupported) for networks of other kinds.
ModelSpec model_of(std::shared_ptr<const Document> document, std::string_view name);

/// All modules of the tree but the root, in order of named_modules().
std::vector<NamedModule> modules_in(const Document& document);

/// A module of a class that derives from nn.Linear or Conv1D and computes in its own way, as a mixture's router does.
struct OwnModule {
    std::string path;
    std::string class_name;
    bool is_linear = false;  ///< of nn.Linear: bitsandbytes leaves it as it is
};
std::vector<OwnModule> modules_of_their_own_kind(const Document& document);

/// Linear layers of a class that derives from nn.Linear, and is adapted as it is, but not quantized: falcon's.
std::set<std::string> derived_linear_layers(const Document& document);
/// The class of the first of them, or empty.
std::string derived_linear_class(const Document& document);

/// Whether a module is a bank of experts: it holds matrices stacked, and is no convolution.
bool has_experts(const Document& document);
/// The same of a model, of a family or recorded.
bool has_experts(const ModelSpec& model);
/// How many parameters experts have, which no quantizer reaches.
std::int64_t parameters_of_experts(const Document& document);

/// A buffer of the tree.
struct Buffer {
    std::string name;
    const Parameter* what = nullptr;
};
/// All buffers, in order of named_buffers().
std::vector<Buffer> buffers_in(const Document& document);
/// Parameters for which the loader makes values that it lets go of.
std::vector<Buffer> made_values(const Document& document);

/// The path of what a module of that path holds.
inline std::string path_inside(std::string_view path, std::string_view name) {
    std::string inside(path);
    if (!inside.empty()) inside += '.';
    return inside += name;
}

/// Calls `visit` with the path and kind of each module, the root's path being empty. One text has all paths in turn.
template <class Visit>
void for_each_kind(const Document& document, Number kind, std::string& path, const Visit& visit) {
    visit(std::as_const(path), document.kinds[kind]);
    const std::size_t own = path.size();
    for (const Child& child : document.kinds[kind].children) {
        if (own > 0) path += '.';
        path += child.name;
        for_each_kind(document, child.kind, path, visit);
        path.resize(own);
    }
}
template <class Visit>
void for_each_kind(const Document& document, const Visit& visit) {
    std::string path;
    for_each_kind(document, document.root, path, visit);
}

/// Whether a path is that of a module or of one inside of it; an empty one is the network.
bool is_inside(std::string_view path, std::string_view of);

/// The text decoder's path, which has the input embeddings, where modules beside it have layers too: towers for images
/// or sound. Empty: there are none.
std::string decoder_beside_towers(const Document& document);

/// The paths of the decoder layers, in order: modules by their class or by their place in a list of layers.
std::vector<std::string> decoder_layers(const Document& document);
/// Their class, or empty where they are of several.
std::string decoder_layer_class(const Document& document);
/// The classes whose modules are FSDP's units: `named`, or the model's own.
const std::vector<std::string>& unit_classes(const Document& document, const std::vector<std::string>& named);

/// Parameters that a layer shares with one before it, as Zamba's layers with attention do: their names, and that of the
/// first.
std::map<std::string, std::string, std::less<>> shared_by_layers(const Document& document);

/// The path of the network inside of what has the head: the child of the root that has all decoder layers. Empty: the
/// root has them itself, or there is none.
std::string base_model(const Document& document);

/// Modules that have the embedding's table under another name, beside the head, and that nothing calls (ProphetNet's
/// prophetnet.word_embeddings).
std::vector<std::string> other_tables(const Document& document);

/// The parameter that is the bias of the head too, by its name, or empty (BERT's cls.predictions.bias).
std::string bias_of_head(const Document& document);

/// Whether decoder layers stand in several lists: stacks that run more than once (HRM), or a list for each part of a
/// layer (XLM).
bool has_several_lists(const Document& document);

/// The path of what comes behind the decoder layers, beside their list: a norm by its own name, or empty.
std::string behind_layers(const Document& document);
/// The path of the last child of that whose class is a norm by its name, or empty.
std::string final_norm(const Document& document);
/// Whether a norm stands beside the decoder layers; BERT's kin have other modules before the head.
bool has_norm_before_head(const Document& document);

/// What the configuration says of frequencies.
struct RopeParameters {
    std::string type;                             ///< rope_type; empty: the class's own default
    std::optional<double> partial_rotary_factor;  ///< of a head's frequencies, those that are not 0
};
/// Of the buffer "full_attention_inv_freq" or "inv_freq" of a rotary embedding at `path`; a tower's are plain.
RopeParameters rope_parameters(const Document& document, std::string_view path, std::string_view buffer);

/// The sizes of a parameter as plain numbers. Throws Error (unsupported) where they are formulas.
std::vector<std::int64_t> sizes_of(const Parameter& parameter);

/// The decoder layer that a module of this path is part of, or -1.
int layer_of(std::string_view path);

}  // namespace vramfit::network
