// torch 2.2 to 2.11 torch/optim/optimizer.py, and states as torch's optimizers make them.
#include "model/optimizers/shared/foreach.hpp"

#include <cstdlib>

namespace vramfit::optimizers {

using namespace model;

std::vector<GroupedTensors> grouped(const engine::Session& session, Optimizer& optimizer, std::size_t group) {
    const auto& parameters = optimizer.groups[group].parameters;
    GroupedTensors all;
    for (std::size_t i = 0; i < parameters.size(); ++i) {
        const Tensor& p = *parameters[i].tensor;
        if (!p->grad) continue;
        all.parameters.push_back(p);
        all.grads.push_back(p.grad());
        all.states.push_back(&optimizer.states[group][i]);
    }
    std::vector<GroupedTensors> out;
    for (const auto& positions : positions_by_dtype(session, all.parameters)) {
        GroupedTensors& one = out.emplace_back();
        for (const std::size_t i : positions) {
            one.parameters.push_back(all.parameters[i]);
            one.grads.push_back(all.grads[i]);
            one.states.push_back(all.states[i]);
        }
    }
    return out;
}

TensorList foreach_result(const TensorList& tensors, engine::Op op) {
    TensorList out;
    for (const Tensor& t : tensors)
        out.push_back(engine::empty_strided(t.session(), t.sizes(), engine::preserved_strides(t.sizes(), t.strides()),
                                            t.dtype(), op));
    return out;
}

TensorList decayed(const Optimizer& optimizer, std::size_t group, const TensorList& grads) {
    const bool decays = optimizer.decays && optimizer.groups[group].weight_decay;
    return decays ? foreach_result(grads, engine::Op::foreach_add) : grads;
}

Tensor state_like(engine::Session& session, const Tensor& p) {
    const engine::Scoped<engine::Module> module(session.recorder.module, session.recorder.place_of(p->storage->id));
    return engine::empty_strided(session, p.sizes(), engine::preserved_strides(p.sizes(), p.strides()), p.dtype(),
                                 engine::Op::optimizer_state);
}

double optim_argument(const std::string& arguments, const std::string& key) {
    const std::size_t at = ("," + arguments).find("," + key + "=");
    return at == std::string::npos ? 0.0 : std::strtod(arguments.c_str() + at + key.size() + 1, nullptr);
}

}  // namespace vramfit::optimizers
