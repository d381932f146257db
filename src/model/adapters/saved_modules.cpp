// peft 0.10 to 0.21.2 utils/other.py _set_trainable and ModulesToSaveWrapper.update.
#include "model/adapters/saved_modules.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "engine/ops/copy.hpp"
#include "model/network/deep_copy.hpp"
#include "model/network/partitions.hpp"
#include "vramfit/base/error.hpp"
#include "vramfit/spec/modules.hpp"

namespace vramfit::model {

using namespace engine;

namespace {

/// torch/nn/parameter.py __deepcopy__: a clone where the original is; the copy is trained.
void replace_by_copy(Tensor& t, Tensor& original) {
    if (!t.defined()) return;
    original = t;
    t = is_on_host(original) ? host_tensor(original.session(), original.sizes(), original.dtype())
                             : clone(detach(original));
    t.set_requires_grad(true);
}

/// transformers 5.17 distributed/tensor_parallel.py install_forward: the copy's forward is the original's.
void refuse_cut(const std::string& name) {
    throw Error(
        ErrorKind::unsupported, "peft.modules_to_save",
        fmt::format("a copy of '{}', which tensor parallelism cuts, would compute with the original's weights and "
                    "never be trained",
                    name),
        "leave it out");
}

void save_linear(Linear& layer, Partitions* partitions) {
    if (layer.cut != Cut::none) refuse_cut(layer.name);
    if (is_packed(layer))
        throw Error(ErrorKind::invalid, "peft.modules_to_save",
                    fmt::format("'{}' is packed: only floating-point weights can be trained (torch)", layer.name),
                    "leave the module out, or add it to llm_int8_skip_modules");
    layer.original.emplace();
    const Gathered gathered(partitions, {&layer.weight, &layer.bias});
    replace_by_copy(layer.weight, layer.original->weight);
    replace_by_copy(layer.bias, layer.original->bias);
}

/// Module by module in the order of named_modules.
class Saver {
  public:
    explicit Saver(Network& network) : network_(network), linears_(linears(network)), norms_(norms(network)) {}

    void save(const std::string& name) {
        for (Embedding* e : embeddings(network_))
            if (e->name == name) return save_embedding(*e);
        for (Linear* l : linears_)
            if (l->name == name) return save_linear(*l, network_.partitions.get());
        for (Norm* n : norms_)
            if (n->name == name) return save_norm(*n);
        throw Error(ErrorKind::unsupported, "peft.modules_to_save",
                    fmt::format("training '{}' as a whole is not supported", name),
                    "name embeddings, linear layers or norms");
    }

    /// ModulesToSaveWrapper.update.
    void copy_again(const std::string& name) {
        const auto again = [](Tensor& t) {
            if (!t.defined()) return;
            const bool trained = t.requires_grad();
            t = clone(detach(t));
            t.set_requires_grad(trained);
        };
        for (Embedding* e : embeddings(network_))
            if (e->name == name) again(e->weight);
        for (Linear* l : linears_)
            if (l->name == name)
                for (Tensor* t : {&l->weight, &l->bias}) again(*t);
        for (Norm* n : norms_)
            if (n->name == name)
                for (Tensor* t : {&n->weight, &n->bias}) again(*t);
    }

  private:
    void save_embedding(Embedding& e) {
        if (e.pieces > 1) refuse_cut(e.name);
        e.original.emplace();
        const Gathered gathered(network_.partitions.get(), {&e.weight});
        replace_by_copy(e.weight, e.original->weight);
        e.original->scale = e.scale;
        e.scale = deep_copy(e.scale);
    }
    void save_norm(Norm& n) {
        n.original.emplace();
        const Gathered gathered(network_.partitions.get(), {&n.weight, &n.bias});
        replace_by_copy(n.weight, n.original->weight);
        replace_by_copy(n.bias, n.original->bias);
    }

    Network& network_;
    std::vector<Linear*> linears_;
    std::vector<Norm*> norms_;
};

}  // namespace

// Names are compared by their ends, dots or not; what matches nothing is passed over.
void save_modules(const Run& run, Network& network) {
    const std::vector<std::string>& names = run.plan.peft->modules_to_save;
    if (names.empty()) return;
    Saver saver(network);
    std::vector<std::string> saved;
    for (const NamedModule& module : modules_of(run.spec)) {
        const auto ends = [&](const std::string& name) { return module.name.ends_with(name); };
        if (!std::any_of(names.begin(), names.end(), ends)) continue;
        if (module.part == ModulePart::head && trained_ends(run.spec, run.plan).tied)
            continue;  // peft ties it to the copy
        saver.save(module.name);
        saved.push_back(module.name);
    }
    if (!run.stack.saved_modules_are_copied_twice()) return;
    for (const std::string& name : saved) saver.copy_again(name);
}

}  // namespace vramfit::model
