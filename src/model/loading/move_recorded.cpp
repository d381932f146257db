// A recorded network that is loaded in host memory and then moved (torch/nn/modules/module.py Module._apply).
#include <map>
#include <set>

#include "engine/ops/copy.hpp"
#include "engine/session.hpp"
#include "model/loading/adapter_buffers.hpp"
#include "model/loading/load_entries.hpp"
#include "model/network/in_module.hpp"

namespace vramfit::model {

using namespace engine;

namespace {

/// Modules inside go first, then a module's own parameters with what peft has put on it, then its buffers.
class Mover {
  public:
    Mover(const Run& run, Network& network, std::optional<DType> buffer_dtype)
        : run_(run), network_(network), buffer_dtype_(buffer_dtype), adapter_buffers_(network) {
        const Tensor* const bias = bias_of_head(network);  // moved with the head, which is inside of the other's module
        for (const NamedParameter& p : named_parameters(network))
            parameters_[p.tensor == bias ? network.head.name : std::string(p.module)].push_back(p);
        for (std::string& path : network::decoder_layers(*run.spec.recording)) absent_.insert(std::move(path));
        for (const LeafRange& layer : network.leaf_layers) absent_.erase(layer.path);
        if (!network.embed.weight.defined()) absent_.insert(network.embed.name);
    }

    void move(network::Number number, const std::string& path, bool in_present = true) {
        const bool is_present = in_present && !absent_.contains(path);
        const network::ModuleKind& kind = run_.spec.recording->kinds[number];
        const std::size_t first = buffer_;
        buffer_ += kind.buffers.size();
        for (const network::Child& child : kind.children)
            move(child.kind, network::path_inside(path, child.name), is_present);
        const Scoped<Module> module(run_.session.recorder.module, module_named(run_.session.recorder, path));
        move_parameters(path);
        for (std::size_t i = 0; is_present && i < kind.buffers.size(); ++i) {
            const network::Parameter& buffer = kind.buffers[i];
            network_.buffers[first + i] =
                recorded_buffer(run_, {network::path_inside(path, buffer.name), &buffer}, Op::to_copy, buffer_dtype_);
        }
    }

  private:
    void move_parameters(const std::string& path) {
        const auto found = parameters_.find(path);
        if (found == parameters_.end()) return;
        for (const NamedParameter& p : found->second) {
            const Scoped<Category> fresh(run_.session.recorder.fresh, p.tensor->requires_grad() && run_.plan.peft
                                                                          ? Category::adapters
                                                                          : Category::weights);
            set_data(*p.tensor, to_device(*p.tensor));
            adapter_buffers_.move_behind(p.tensor);
        }
    }

    const Run& run_;
    Network& network_;
    std::optional<DType> buffer_dtype_;
    AdapterBuffers adapter_buffers_;
    std::map<std::string, std::vector<NamedParameter>, std::less<>> parameters_;
    std::set<std::string> absent_;  ///< modules of other stages of a pipeline
    std::size_t buffer_ = 0;
};

}  // namespace

void move_recorded(const Run& run, Network& network, std::optional<DType> buffer_dtype) {
    Mover(run, network, buffer_dtype).move(run.spec.recording->root, {});
}

}  // namespace vramfit::model
