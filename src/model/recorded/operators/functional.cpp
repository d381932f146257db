// Norms and activations of torch.nn.functional in recorded programs.
#include "engine/ops/layer_norm.hpp"
#include "model/recorded/operators.hpp"

namespace vramfit::model::recorded {

namespace {

/// Over the last dimension, with or without weight and bias.
Tensor normalized(const Arguments& a) {
    const network::Argument* shape = a.find(1, "normalized_shape");
    if (!shape || !shape->is(network::Argument::Kind::list) || shape->items.size() != 1)
        a.refuse("a norm over several dimensions");
    return engine::layer_norm(a.tensor(0), a.optional_tensor(2, "weight"), a.optional_tensor(3, "bias"));
}

Tensor activation_relu(const Arguments& a) {
    if (a.flag(1, "inplace", false)) a.refuse("inplace=True");
    return engine::relu(a.tensor(0));
}

Tensor activation_gelu(const Arguments& a) { return engine::gelu(a.tensor(0)); }

Tensor squared(const Arguments& a) { return engine::square(a.tensor(0)); }

constexpr NamedOperator kFunctional[] = {
    {"torch.nn.functional.layer_norm", normalized},
    {"torch.nn.functional.relu", activation_relu},
    {"torch.nn.functional.gelu", activation_gelu},
    {"torch.square", squared},
};

}  // namespace

std::span<const NamedOperator> functional_operators() { return kFunctional; }

}  // namespace vramfit::model::recorded
