// The tree of a recorded network's modules.
#include "model/recorded/model.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "model/network/called.hpp"
#include "spec/network/model.hpp"
#include "spec/network/rewritten/tensor_parallel.hpp"
#include "vramfit/base/error.hpp"

namespace vramfit::model {

RecordedModel::RecordedModel(const network::Document& document)
    : document_(&document),
      release_(version_from(document.transformers)),
      layers_(network::decoder_layers(document)),
      base_(network::base_model(document)),
      final_norm_(network::final_norm(document)),
      behind_layers_(network::behind_layers(document)),
      several_lists_(!base_.empty() && network::has_several_lists(document)) {
    for (const network::Program& program : document.programs) {
        std::vector<recorded::Operator>& row = operators_.emplace_back();
        row.reserve(program.code.size());
        const auto add_of = [&row](const auto& instruction) {
            const auto* call = std::get_if<network::Call>(&instruction);
            row.push_back(call ? recorded::operator_named(call->function) : recorded::Operator());
        };
        for (const network::Instruction& instruction : program.code) {
            add_of(instruction);
            if (const auto* loop = std::get_if<network::Repeat>(&instruction)) {
                for (const network::Step& step : loop->begin) add_of(step);
                for (const network::Step& step : loop->next) add_of(step);
            }
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
    buffers_ += what.buffers.size();
    if (units_ < layers_.size() && path == layers_[units_]) modules_[index].unit = static_cast<int>(units_++);
    if (document_->is_piece && what.leaf == network::Leaf::linear)
        modules_[index].summed_tail = network::summed_tail(*document_, path);
    modules_[index].is_final_norm = !path.empty() && path == final_norm_;
    modules_[index].is_behind_layers = !path.empty() && path == behind_layers_;
    for (const network::Child& child : what.children) {
        const std::uint32_t made = add(child.kind, network::path_inside(path, child.name));
        modules_[index].children.push_back(made);
    }
    return index;
}

void RecordedModel::bind(Network& network) {
    std::unordered_map<std::string_view, RecordedModule*> by_path;
    for (RecordedModule& module : modules_) by_path.emplace(module.path, &module);
    const auto found = [&](const auto& leaf) -> RecordedModule& { return *by_path.at(leaf.name); };
    for_each_module(network, Overloaded{[&](Linear& linear) {
                                            RecordedModule& module = found(linear);
                                            module.linear = &linear;
                                            linear.is_product = module.kind->class_name == "FalconLinear";
                                        },
                                        [&](Embedding& table) { found(table).embedding = &table; },
                                        [&](Norm& norm) {
                                            RecordedModule& module = found(norm);
                                            module.norm = &norm;
                                            norm.is_layer_norm = module.kind->leaf == network::Leaf::layer_norm;
                                        },
                                        [&](BareModule& bare) { found(bare).bare = &bare; }});
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

std::pair<const RecordedModule*, std::string_view> RecordedModel::owner_of(std::uint32_t from,
                                                                           std::string_view path) const {
    const std::size_t dot = path.rfind('.');
    const bool rooted = path.starts_with('/');
    const bool nested = dot != std::string_view::npos;
    const std::string_view name = nested ? path.substr(dot + 1) : path.substr(rooted ? 1 : 0);
    return {&modules_[find(from, nested ? path.substr(0, dot) : path.substr(0, rooted ? 1 : 0))], name};
}

void RecordedModel::replace_buffer(const Network& network, std::uint32_t from, std::string_view path,
                                   Tensor tensor) const {
    const auto [module, name] = owner_of(from, path);
    for (std::size_t i = 0; i < module->kind->buffers.size(); ++i)
        if (module->kind->buffers[i].name == name) network.buffers[module->first_buffer + i] = tensor;
}

Tensor RecordedModel::parameter(const Network& network, std::uint32_t from, std::string_view path) const {
    const auto [owner, name] = owner_of(from, path);
    const RecordedModule& module = *owner;
    Tensor found;
    if (module.linear) found = name == "weight" ? module.linear->weight : module.linear->bias;
    if (module.norm) found = name == "weight" ? module.norm->weight : module.norm->bias;
    if (module.embedding) found = module.embedding->weight;
    if (module.bare)
        for (std::size_t i = 0; i < module.bare->parameters.size(); ++i) {
            if (module.bare->parameters[i].name != name) continue;
            if (module.bare->lora[i])
                throw Error(
                    ErrorKind::unsupported, network::path_inside(module.path, name),
                    "an adapter on a parameter that another module reads was not compared with recorded networks yet",
                    "leave it out of the adapter's targets");
            found = module.bare->tensors[i];
        }
    if (found.defined()) read(found);
    for (std::size_t i = 0; i < module.kind->buffers.size(); ++i)
        if (module.kind->buffers[i].name == name) found = network.buffers[module.first_buffer + i];
    if (!found.defined())
        throw Error(ErrorKind::unsupported, network::path_inside(module.path, name),
                    "the recorded network reads this parameter itself, which is quantized or not kept",
                    "leave the module out of quantization");
    return found;
}

}  // namespace vramfit::model
