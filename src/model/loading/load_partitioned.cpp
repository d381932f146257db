// transformers 5.17 modeling_utils.py from_pretrained under HfDeepSpeedConfig: get_init_context, deepspeed.zero.Init.
#include <algorithm>
#include <map>
#include <stdexcept>
#include <string>
#include <utility>

#include "engine/ops/copy.hpp"
#include "engine/session.hpp"
#include "model/layers/family.hpp"
#include "model/loading/load_entries.hpp"
#include "model/loading/zero_buffers.hpp"
#include "model/network/in_module.hpp"
#include "model/network/partitions.hpp"
#include "model/parallel/zero_plan.hpp"

namespace vramfit::model {

using namespace engine;

namespace {

/// A module with parameters of its own.
struct MadeModule {
    std::string name;
    std::vector<Tensor*> tensors;
    std::vector<Dims> sizes;
};

/// In order of registration, without buffers. Experts that are merged have the name of their module.
std::vector<MadeModule> modules_of(const std::vector<Entry>& entries, const Network& network) {
    std::vector<MadeModule> modules;
    for (const Entry& entry : entries) {
        if (std::any_of(network.buffers.begin(), network.buffers.end(),
                        [&entry](const Tensor& buffer) { return &buffer == entry.place; }))
            continue;
        std::string name = entry.merged_from.empty() ? entry.name.substr(0, entry.name.rfind('.')) : entry.name;
        if (modules.empty() || name != modules.back().name) modules.push_back({std::move(name), {}, {}});
        modules.back().tensors.push_back(entry.place);
        modules.back().sizes.push_back(entry.sizes);
    }
    return modules;
}

/// What is around others (an attention with sinks) is made, and so cut, after them.
std::vector<MadeModule> in_order_of_making(std::vector<MadeModule> modules) {
    for (auto module = modules.begin(); module != modules.end();) {
        const auto is_outside = [inner = module->name + "."](const MadeModule& other) {
            return !other.name.starts_with(inner);
        };
        const auto end = std::find_if(std::next(module), modules.end(), is_outside);
        if (end == std::next(module))
            ++module;
        else
            std::rotate(module, std::next(module), end);
    }
    return modules;
}

/// The modules of a recorded network that have parameters or buffers, as they are made: in order of registration, those
/// around others behind them; but RobertaEmbeddings makes its table of places, and ErnieEmbeddings that of tasks, last.
void list_made(const network::Document& document, network::Number number, const std::string& path,
               std::vector<std::string>& order) {
    const network::ModuleKind& kind = document.kinds[number];
    const auto list_itself = [&] {
        if (!kind.parameters.empty() || !kind.buffers.empty()) order.push_back(path);
    };
    const std::string last = kind.children.empty() ? "" : kind.children.back().name;
    const bool before_last =
        has_buffers_of_ids(kind) && (last == "position_embeddings" || last == "task_type_embeddings");
    for (const network::Child& child : kind.children) {
        if (before_last && &child == &kind.children.back()) list_itself();
        list_made(document, child.kind, network::path_inside(path, child.name), order);
    }
    if (!before_last) list_itself();
}

/// A module's __init__, on the device, in the dtype that is loaded; zero.Init's constructors cast it to DeepSpeed's
/// (zero_wrapper_for_fp_tensor_constructor). Then Init._post_init_method.
template <class MakeBuffers>
void make_module(const Run& run, Network& network, const MadeModule& module, const MakeBuffers& make_buffers) {
    Session& session = run.session;
    Partitions& partitions = *network.partitions;
    const std::vector<Tensor*>& tensors = module.tensors;
    const InModule scope(session, module.name);
    for (std::size_t i = 0; i < tensors.size(); ++i)
        *tensors[i] = to(empty(session, module.sizes[i], run.plan.load.dtype), zero_dtype(run));
    make_buffers();
    for (Tensor* t : tensors) partitions.partition(partitions.convert(*t));
}

void make_module(const Run& run, Network& network, const MadeModule& module) {
    make_module(run, network, module, [&] {
        const bool scales = module.tensors[0] == &network.embed.weight && embedding_scales_itself(run);
        if (scales) network.embed.scale = made_scale(run);
    });
}

/// What tie_weights replaces is the garbage collector's.
void let_go_of_last(Network& network) { network.uncollected.push_back(network.partitions->forget_last()); }

/// The token embedding's, which may be made later.
Dims sizes_of_table(const std::vector<MadeModule>& modules, const Network& network) {
    for (const MadeModule& module : modules)
        if (module.tensors[0] == &network.embed.weight) return module.sizes[0];
    throw std::logic_error("a network without a token embedding");
}

/// A head that the token embedding replaces.
void make_tied_head(const Run& run, Network& network, const Dims& sizes) {
    Tensor head;
    make_module(run, network, {"", {&head}, {sizes}});
    let_go_of_last(network);
}

/// BertLMPredictionHead: the head inside has a bias of its own before it shares this module's.
void make_head_inside(const Run& run, Network& network, const Dims& sizes) {
    Tensor bias, replaced;
    Tensor* const weight = network.tied ? &replaced : &network.head.weight;
    make_module(run, network, {network.head.name, {weight, &bias}, {sizes, {sizes[0]}}});
    let_go_of_last(network);
    if (network.tied) let_go_of_last(network);
}

/// Modules of a recorded network as zero.Init makes them, with their buffers.
void make_recorded(const Run& run, Network& network, const std::vector<MadeModule>& modules) {
    const network::Document& document = *run.spec.recording;
    std::map<std::string, const network::ModuleKind*, std::less<>> kinds;
    std::map<std::string, std::size_t, std::less<>> first_buffers;
    std::size_t buffers = 0;
    network::for_each_kind(document, [&](const std::string& path, const network::ModuleKind& kind) {
        kinds.emplace(path, &kind);
        first_buffers.emplace(path, buffers);
        buffers += kind.buffers.size();
    });
    std::vector<std::string> order;
    list_made(document, document.root, {}, order);
    const std::string& shared = network.bias_of_head;
    for (const std::string& path : order) {
        if (!shared.empty() && path == network.head.name) continue;  // made with its bias, below
        if (!shared.empty() && path == shared.substr(0, shared.rfind('.')))
            make_head_inside(run, network, sizes_of_table(modules, network));
        const network::ModuleKind& kind = *kinds.at(path);
        Tensor* const places = kind.buffers.empty() ? nullptr : &network.buffers[first_buffers.at(path)];
        const auto make = [&] { make_buffers(run, path, kind, places); };
        const auto module =
            std::find_if(modules.begin(), modules.end(), [&path](const MadeModule& each) { return each.name == path; });
        if (module != modules.end())
            make_module(run, network, *module, make);
        else
            make();
    }
}

/// The rotary embedding's buffers, made on the device as everything is in zero.Init.
void make_frequencies(const Run& run, Network& network) {
    if (!family_of(run.spec.model_type).rotate) return;
    const auto make = [&](std::string_view type) {
        const Tensor frequencies = frequencies_of(run, (run.spec.rotary_dim() + 1) / 2, type);
        network.buffers.push_back(frequencies);
        network.buffers.push_back(clone(frequencies));
    };
    const LayerKinds kinds = layer_kinds(run.spec);
    const bool by_type = family_of(run.spec.model_type).rotary_by_type;
    if (!by_type || kinds.full) make(run.spec.rope_type);
    if (by_type && kinds.sliding) make("default");  // Gemma3TextConfig
}

void make_by_family(const Run& run, Network& network, const std::vector<MadeModule>& modules) {
    const bool before_norm = family_of(run.spec.model_type).rotary_before_norm;
    const Tensor* const behind = before_norm ? &network.norm.weight : &network.head.weight;
    bool is_made = false;
    for (const MadeModule& module : in_order_of_making(modules)) {
        if (module.tensors[0] == behind) {
            make_frequencies(run, network);
            is_made = true;
        }
        make_module(run, network, module);
    }
    if (!is_made) make_frequencies(run, network);
}

}  // namespace

Network load_partitioned(const Run& run) {
    Session& session = run.session;
    const GradMode no_grad(session, false);
    Network network = make_network(run.spec);
    network.partitions = std::make_shared<Partitions>(session, *run.plan.distributed);
    Partitions& partitions = *network.partitions;
    const std::vector<Entry> entries = checkpoint_entries(run, network);
    const std::vector<MadeModule> modules = modules_of(entries, network);
    if (run.spec.recording)
        make_recorded(run, network, modules);
    else
        make_by_family(run, network, modules);
    if (network.tied && network.bias_of_head.empty()) make_tied_head(run, network, sizes_of_table(modules, network));
    tie_head(network);
    keep_in_float32(run, network);
    for (const MadeModule& module : modules) {  // _load_state_dict_into_zero3_model
        std::vector<std::size_t> ids;
        for (const Tensor* t : module.tensors) ids.push_back(*partitions.find(*t));
        partitions.gather(ids);
        for (const std::size_t id : ids) partitions.partition(id);
    }
    return network;
}

}  // namespace vramfit::model
