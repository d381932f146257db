// The tree of a recorded network's modules.
#include "model/recorded/model.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "vramfit/base/error.hpp"

namespace vramfit::model {

namespace {

std::string joined_path(std::string_view path, std::string_view name) {
    return path.empty() ? std::string(name) : fmt::format("{}.{}", path, name);
}

/// The leaves of a network by their names.
struct LeavesByName {
    explicit LeavesByName(Network& network) {
        for (Embedding* e : {&network.embed, &network.positions})
            if (e->rows > 0) embeddings.emplace(e->name, e);
        for (DecoderLayer& layer : network.layers)
            for_each_module(
                layer, [this](Linear& l) { linears.emplace(l.name, &l); },
                [this](Norm& n) { norms.emplace(n.name, &n); }, [this](BareModule& b) { bare.emplace(b.name, &b); });
        norms.emplace(network.norm.name, &network.norm);
        linears.emplace(network.head.name, &network.head);
    }

    template <class Leaf>
    static Leaf* find(const std::unordered_map<std::string_view, Leaf*>& leaves, std::string_view name) {
        const auto found = leaves.find(name);
        return found == leaves.end() ? nullptr : found->second;
    }

    std::unordered_map<std::string_view, Linear*> linears;
    std::unordered_map<std::string_view, Embedding*> embeddings;
    std::unordered_map<std::string_view, Norm*> norms;
    std::unordered_map<std::string_view, BareModule*> bare;
};

/// The sizes of the weight that the recording has there, as plain numbers.
bool has_sizes(const network::ModuleKind& kind, Size rows, Size columns) {
    if (kind.parameters.empty()) return false;
    const auto& sizes = kind.parameters.front().sizes;
    const auto is = [&](std::size_t i, Size wanted) { return sizes[i].integer == wanted.value(); };
    return sizes.size() == 2 ? is(0, rows) && is(1, columns) : sizes.size() == 1 && is(0, rows);
}

[[noreturn]] void refuse_module(const RecordedModule& module, std::string_view what) {
    throw Error(ErrorKind::invalid, module.path, fmt::format("{} ({})", what, module.kind->class_name),
                "a recording goes with the configuration that was recorded");
}

}  // namespace

RecordedModel::RecordedModel(const network::Document& document) : document_(&document) {
    for (const network::Program& program : document.programs) {
        std::vector<recorded::Operator>& row = operators_.emplace_back();
        row.reserve(program.code.size());
        for (const network::Instruction& instruction : program.code) {
            const auto* call = std::get_if<network::Call>(&instruction);
            row.push_back(call ? recorded::operator_named(call->function) : recorded::Operator());
        }
    }
    add(document.root, {});
}

std::uint32_t RecordedModel::add(network::Number kind, std::string path) {
    const network::ModuleKind& what = document_->kinds[kind];
    const auto index = static_cast<std::uint32_t>(modules_.size());
    modules_.emplace_back();
    modules_[index].kind = &what;
    modules_[index].path = path;
    modules_[index].first_buffer = buffers_;
    if (what.leaf != network::Leaf::embedding) buffers_ += what.buffers.size();  // a scaled table keeps its own
    units_ += what.checkpointed ? 1 : 0;
    for (const network::Child& child : what.children) {
        const std::uint32_t made = add(child.kind, joined_path(path, child.name));
        modules_[index].children.push_back(made);
    }
    return index;
}

void RecordedModel::bind(Network& network) {
    const LeavesByName leaves(network);
    for (RecordedModule& module : modules_) {
        module.linear = LeavesByName::find(leaves.linears, module.path);
        module.embedding = LeavesByName::find(leaves.embeddings, module.path);
        module.norm = LeavesByName::find(leaves.norms, module.path);
        module.bare = LeavesByName::find(leaves.bare, module.path);
        switch (module.kind->leaf) {
            case network::Leaf::linear:
                if (!module.linear || !has_sizes(*module.kind, module.linear->out, module.linear->in))
                    refuse_module(module, "the network has no such linear layer");
                break;
            case network::Leaf::embedding:
                if (!module.embedding || !has_sizes(*module.kind, module.embedding->rows, network.spec->hidden_size))
                    refuse_module(module, "the network has no such embedding");
                break;
            case network::Leaf::conv1d:
                if (!module.linear || !has_sizes(*module.kind, module.linear->in, module.linear->out))
                    refuse_module(module, "the network has no such linear layer");
                break;
            case network::Leaf::norm:
            case network::Leaf::layer_norm:
                if (!module.norm || !has_sizes(*module.kind, module.norm->width, 0))
                    refuse_module(module, "the network has no such norm");
                break;
            case network::Leaf::experts:
            case network::Leaf::none:
                if (!module.kind->parameters.empty() && !module.bare)
                    refuse_module(module, "parameters outside of leaves");
                break;
        }
    }
    if (buffers_ != network.buffers.size())
        throw Error(ErrorKind::unsupported, document_->file,
                    fmt::format("{} buffers, where the loader makes {}", buffers_, network.buffers.size()),
                    "record the network with the release of transformers that is asked about");
}

std::uint32_t RecordedModel::find(std::uint32_t from, std::string_view path) const {
    if (path.starts_with('/')) {
        from = 0;
        path.remove_prefix(1);
    }
    while (!path.empty()) {
        const std::size_t dot = std::min(path.find('.'), path.size());
        const RecordedModule& module = modules_[from];
        const auto& names = module.kind->children;
        const auto named =
            std::find_if(names.begin(), names.end(),
                         [name = path.substr(0, dot)](const network::Child& c) { return c.name == name; });
        from = module.children.at(static_cast<std::size_t>(named - names.begin()));
        path.remove_prefix(std::min(dot + 1, path.size()));
    }
    return from;
}

Tensor RecordedModel::parameter(const Network& network, std::uint32_t from, std::string_view path) const {
    const std::size_t dot = path.rfind('.');
    const bool rooted = path.starts_with('/');
    const bool nested = dot != std::string_view::npos;
    const std::string_view name = nested ? path.substr(dot + 1) : path.substr(rooted ? 1 : 0);
    const RecordedModule& module = modules_[find(from, nested ? path.substr(0, dot) : path.substr(0, rooted ? 1 : 0))];
    Tensor found;
    if (module.linear) found = name == "weight" ? module.linear->weight : module.linear->bias;
    if (module.norm) found = name == "weight" ? module.norm->weight : module.norm->bias;
    if (module.embedding) found = name == "weight" ? module.embedding->weight : module.embedding->scale;
    if (module.bare)
        for (std::size_t i = 0; i < module.bare->parameters.size(); ++i) {
            if (module.bare->parameters[i].name != name) continue;
            if (module.bare->lora[i])
                throw Error(ErrorKind::unsupported, joined_path(module.path, name),
                            "an adapter on a parameter that is no linear layer's was not compared with recorded "
                            "networks yet",
                            "leave it out of the adapter's targets");
            found = module.bare->tensors[i];
        }
    for (std::size_t i = 0; !module.embedding && i < module.kind->buffers.size(); ++i)
        if (module.kind->buffers[i].name == name) found = network.buffers[module.first_buffer + i];
    if (!found.defined())
        throw Error(ErrorKind::unsupported, joined_path(module.path, name),
                    "the recorded network reads this parameter itself, which is quantized or not kept",
                    "leave the module out of quantization");
    return found;
}

}  // namespace vramfit::model
