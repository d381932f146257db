// trl 1.16 experimental/utils.py create_reference_model; torch 2.11 nn/parameter.py Parameter.__deepcopy__, _tensor.py
// Tensor.__deepcopy__: a parameter is cloned, a buffer's storage is copied.
#include "model/preferences/online/copied.hpp"

#include "engine/ops/copy.hpp"
#include "engine/session.hpp"
#include "model/network/deep_copy.hpp"

namespace vramfit::model {

using namespace engine;

namespace {

void copy_buffers(Network& network) {
    for (auto* buffers : {&network.layer_buffers, &network.buffers})
        for (Tensor& buffer : *buffers) {
            const Category category = label_of(buffer);
            buffer = deep_copy(buffer);
            label(buffer, category);
        }
}

}  // namespace

std::unique_ptr<Network> copied_network(Network& policy) {
    auto out = std::make_unique<Network>(policy);
    Network& copy = *out;
    Session& session = copy.embed.weight.session();
    const GradMode no_grad(session, false);
    const auto replace = [&](Tensor& t, const auto& made) {
        const Category category = label_of(t);
        t = made(t);
        label(t, category);
    };
    bool are_buffers_copied = false;
    for (const NamedParameter& p : named_parameters(copy)) {
        // The decoder's own buffers come behind its modules, in front of the head.
        if (!are_buffers_copied && p.module == copy.head.name) {
            copy_buffers(copy);
            are_buffers_copied = true;
        }
        replace(*p.tensor, [](const Tensor& t) { return clone(detach(t)); });
        p.tensor->set_requires_grad(false);
        if (p.module == copy.embed.name && copy.embed.scale.defined())
            replace(copy.embed.scale, [](const Tensor& t) { return deep_copy(t); });
    }
    if (!are_buffers_copied) copy_buffers(copy);
    tie_head(copy);
    return out;
}

}  // namespace vramfit::model
