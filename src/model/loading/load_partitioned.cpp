// transformers 5.17 modeling_utils.py from_pretrained under HfDeepSpeedConfig: get_init_context, deepspeed.zero.Init.
#include <algorithm>
#include <map>
#include <stdexcept>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "engine/ops/copy.hpp"
#include "engine/ops/pointwise.hpp"
#include "engine/ops/reduce.hpp"
#include "engine/session.hpp"
#include "model/layers/family.hpp"
#include "model/loading/load_entries.hpp"
#include "model/network/in_module.hpp"
#include "model/network/partitions.hpp"
#include "model/parallel/zero_plan.hpp"
#include "vramfit/base/error.hpp"

namespace vramfit::model {

using namespace engine;

namespace {

/// A module with parameters of its own.
struct MadeModule {
    std::string name;
    std::vector<Tensor*> tensors;
    std::vector<Dims> sizes;
};

/// In order of registration. Experts that are merged have the name of their module.
std::vector<MadeModule> modules_of(const std::vector<Entry>& entries) {
    std::vector<MadeModule> modules;
    for (const Entry& entry : entries) {
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

/// BERT's embeddings: numbers of places and types, which torch.arange and torch.zeros make.
bool has_ids(const network::ModuleKind& kind) {
    return !kind.buffers.empty() && std::all_of(kind.buffers.begin(), kind.buffers.end(), [](const auto& buffer) {
        return buffer.name == "position_ids" || buffer.name == "token_type_ids";
    });
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
    const bool before_last = has_ids(kind) && (last == "position_embeddings" || last == "task_type_embeddings");
    for (const network::Child& child : kind.children) {
        if (before_last && &child == &kind.children.back()) list_itself();
        list_made(document, child.kind, network::path_inside(path, child.name), order);
    }
    if (!before_last) list_itself();
}

/// A module's __init__, on the device, in the dtype that is loaded; zero.Init's constructors cast it to DeepSpeed's
/// (zero_wrapper_for_fp_tensor_constructor). Then Init._post_init_method.
void make_module(const Run& run, Network& network, const MadeModule& module, Tensor* scale = nullptr) {
    Session& session = run.session;
    Partitions& partitions = *network.partitions;
    const std::vector<Tensor*>& tensors = module.tensors;
    const InModule scope(session, module.name);
    for (std::size_t i = 0; i < tensors.size(); ++i)
        *tensors[i] = to(empty(session, module.sizes[i], run.plan.load.dtype), zero_dtype(run));
    if (tensors[0] == &network.embed.weight && embedding_scales_itself(run)) scale = &network.embed.scale;
    if (scale) *scale = to(empty(session, {}, run.plan.load.dtype, Op::to_copy), zero_dtype(run));
    for (Tensor* t : tensors) partitions.partition(partitions.convert(*t));
}

/// 1 / base^exponents.
Tensor inverse_powers(Tensor exponents) {
    const DType dtype = exponents.dtype();
    exponents = div(exponents, 1);
    const Tensor powers = pointwise_result(exponents, dtype, Op::pow);
    { const Tensor base = empty(exponents.session(), {}, DType::float64, Op::scalar_tensor); }
    exponents.reset();
    Tensor inverse = reciprocal(powers);
    inverse = mul(inverse, 1.0);
    return inverse;
}

/// LlamaRotaryEmbedding.compute_default_rope_parameters: zero.Init's torch.arange gives floats of the default dtype.
Tensor default_frequencies(Session& session, Size count, DType dtype) {
    Tensor exponents;
    {
        const Tensor places = empty(session, {count}, DType::float32, Op::arange);
        exponents = to(places, dtype);
    }
    return inverse_powers(std::move(exponents));
}

/// modeling_rope_utils.py _compute_llama3_parameters: float32, as it says.
Tensor llama3_frequencies(Session& session, Size count) {
    Tensor exponents;
    {
        const Tensor places = empty(session, {count}, DType::int64, Op::arange);
        exponents = to(places, DType::float32);
    }
    const Tensor inverse = inverse_powers(std::move(exponents));
    Tensor length = reciprocal(inverse);
    length = mul(length, 1.0);
    Tensor scaled;
    {
        const Tensor is_long = compare(Op::gt, length);
        const Tensor slower = div(inverse, 1.0);
        scaled = where(is_long, slower, inverse);
    }
    Tensor smooth = reciprocal(length);
    smooth = mul(smooth, 1);
    smooth = sub(smooth, 1.0);
    smooth = div(smooth, 1.0);
    Tensor smoothed;
    {
        Tensor rest = pointwise_result(smooth, DType::float32, Op::sub);
        rest = mul(rest, scaled);
        rest = div(rest, 1.0);
        const Tensor part = mul(smooth, scaled);
        smoothed = add(rest, part);
    }
    Tensor is_medium;
    {
        Tensor not_short = compare(Op::lt, length);
        not_short = pointwise_result(not_short, DType::boolean, Op::bitwise_not);
        Tensor not_long = compare(Op::gt, length);
        not_long = pointwise_result(not_long, DType::boolean, Op::bitwise_not);
        is_medium = pointwise_result(not_short, DType::boolean, Op::mul);
    }
    scaled = where(is_medium, smoothed, scaled);
    return scaled;
}

/// modeling_rope_utils.py _compute_yarn_parameters: float32 but for the ramp, which torch.arange makes.
Tensor yarn_frequencies(Session& session, Size count, DType dtype) {
    Tensor powers;
    {
        Tensor exponents;
        {
            const Tensor places = empty(session, {count}, DType::int64, Op::arange);
            exponents = to(places, DType::float32);
        }
        exponents = div(exponents, 1.0);
        powers = pointwise_result(exponents, DType::float32, Op::pow);
        const Tensor base = empty(session, {}, DType::float64, Op::scalar_tensor);
    }
    const auto inverse = [](Tensor powers_of_base) {
        const Tensor one_over = reciprocal(powers_of_base);
        return mul(one_over, 1.0);
    };
    const Tensor extrapolation = inverse(powers);
    const Tensor interpolation = inverse(mul(powers, 1.0));
    Tensor ramp;
    {
        const Tensor places = empty(session, {count}, DType::float32, Op::arange);
        ramp = to(places, dtype);
    }
    ramp = sub(ramp, 1.0);
    ramp = div(ramp, 1.0);
    ramp = pointwise_result(ramp, ramp.dtype(), Op::clamp);
    ramp = to(ramp, DType::float32);
    const Tensor factor = pointwise_result(ramp, DType::float32, Op::sub);
    ramp.reset();
    Tensor rest = pointwise_result(factor, DType::float32, Op::sub);
    rest = mul(interpolation, rest);
    const Tensor part = mul(extrapolation, factor);
    return add(rest, part);
}

/// _compute_linear_scaling_rope_parameters: the unscaled ones, divided in place.
Tensor linear_frequencies(Session& session, Size count) {
    Tensor exponents;
    {
        const Tensor places = empty(session, {count}, DType::int64, Op::arange);
        exponents = to(places, DType::float32);
    }
    return inverse_powers(std::move(exponents));
}

Tensor frequencies_of(const Run& run, Size count, std::string_view type) {
    Session& session = run.session;
    if (type == "llama3") return llama3_frequencies(session, count);
    if (type == "yarn") return yarn_frequencies(session, count, zero_dtype(run));
    if (type == "linear") return linear_frequencies(session, count);
    return default_frequencies(session, count, zero_dtype(run));
}

/// A module whose buffers are frequencies and their original, for each kind of layers or for all, as transformers'
/// rotary embeddings have them.
bool is_rotary(const network::ModuleKind& kind) {
    bool all = kind.class_name.ends_with("RotaryEmbedding") && kind.parameters.empty() && kind.buffers.size() % 2 == 0;
    for (std::size_t i = 0; all && i < kind.buffers.size(); i += 2) {
        const std::string& name = kind.buffers[i].name;
        all = name.ends_with("inv_freq") &&
              kind.buffers[i + 1].name == name.substr(0, name.size() - 8) + "original_inv_freq";
    }
    return all;
}

/// GemmaTextScaledWordEmbedding and its likes: a number that torch.tensor makes.
bool is_scaled_table(const network::ModuleKind& kind) {
    return kind.leaf == network::Leaf::embedding && kind.buffers.size() == 1 && kind.buffers[0].sizes.empty() &&
           kind.buffers[0].dtype.of == network::DTypeName::Of::weights;
}

Tensor made_ids(Session& session, const network::Parameter& buffer) {
    Dims sizes;
    for (const std::int64_t size : network::sizes_of(buffer)) sizes.push(size);
    if (buffer.name != "position_ids") return zeros(session, sizes, DType::int64);
    return alias(arange(session, numel_of(sizes)), sizes, contiguous_strides(sizes));
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
        for (const MadeModule& module : modules)
            if (module.name == path) make_module(run, network, module, is_scaled_table(kind) ? places : nullptr);
        if (!places || is_scaled_table(kind)) continue;
        if (has_ids(kind)) {
            for (std::size_t i = 0; i < kind.buffers.size(); ++i) places[i] = made_ids(run.session, kind.buffers[i]);
            continue;
        }
        if (!is_rotary(kind))
            throw Error(ErrorKind::unsupported, path,
                        fmt::format("buffers that {} makes while DeepSpeed cuts the network are not supported",
                                    kind.class_name),
                        "ZeRO-1, ZeRO-2, FSDP or DDP");
        for (std::size_t i = 0; i < kind.buffers.size(); i += 2) {
            const std::string type = network::rope_type(document, kind.buffers[i].name);
            places[i] = frequencies_of(run, network::sizes_of(kind.buffers[i]).at(0), type);
            places[i + 1] = clone(places[i]);
        }
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
    const std::vector<MadeModule> modules = modules_of(entries);
    if (run.spec.recording)
        make_recorded(run, network, modules);
    else
        make_by_family(run, network, modules);
    if (network.tied && network.bias_of_head.empty()) make_tied_head(run, network, sizes_of_table(modules, network));
    if (network.tied) network.head.weight = network.embed.weight;
    for (const MadeModule& module : modules) {  // _load_state_dict_into_zero3_model
        std::vector<std::size_t> ids;
        for (const Tensor* t : module.tensors) ids.push_back(*partitions.find(*t));
        partitions.gather(ids);
        for (const std::size_t id : ids) partitions.partition(id);
    }
    return network;
}

}  // namespace vramfit::model
