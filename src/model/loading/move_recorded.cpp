// A recorded network that is loaded in host memory and then moved (torch/nn/modules/module.py Module._apply).
#include <map>

#include "engine/ops/copy.hpp"
#include "engine/session.hpp"
#include "model/loading/load_entries.hpp"
#include "model/network/in_module.hpp"

namespace vramfit::model {

using namespace engine;

namespace {

/// Modules inside go first, then a module's own parameters, then its buffers.
class Mover {
  public:
    Mover(const Run& run, Network& network) : run_(run), network_(network) {
        for (const NamedParameter& p : named_parameters(network)) parameters_.emplace(p.name(), p.tensor);
    }

    void move(network::Number number, const std::string& path) {
        const network::ModuleKind& kind = run_.spec.recording->kinds[number];
        const std::size_t first = buffer_;
        buffer_ += kind.buffers.size();
        for (const network::Child& child : kind.children) move(child.kind, network::path_inside(path, child.name));
        const Scoped<Module> module(run_.session.recorder.module, module_named(run_.session.recorder, path));
        for (const network::Parameter& p : kind.parameters) {
            const auto found = parameters_.find(network::path_inside(path, p.name));
            if (found != parameters_.end()) set_data(*found->second, to_device(*found->second));
        }
        for (std::size_t i = 0; i < kind.buffers.size(); ++i) {
            const network::Parameter& buffer = kind.buffers[i];
            network_.buffers[first + i] =
                recorded_buffer(run_, {network::path_inside(path, buffer.name), &buffer}, Op::to_copy);
        }
    }

  private:
    const Run& run_;
    Network& network_;
    std::map<std::string, Tensor*, std::less<>> parameters_;
    std::size_t buffer_ = 0;
};

}  // namespace

void move_recorded(const Run& run, Network& network) { Mover(run, network).move(run.spec.recording->root, {}); }

}  // namespace vramfit::model
