// peft 0.21.2 tuners/hira/layer.py Linear.
#include "engine/autocast.hpp"
#include "engine/ops/copy.hpp"
#include "engine/ops/dropout.hpp"
#include "engine/ops/matmul.hpp"
#include "engine/ops/pointwise.hpp"
#include "engine/ops/view.hpp"
#include "engine/session.hpp"
#include "model/adapters/kinds/kinds.hpp"
#include "model/network/modules.hpp"

namespace vramfit::model {

using namespace engine;

void create_hira(const NewAdapter& made) {
    made.add("hira_A.default", {made.rank, made.layer.in});
    made.add("hira_B.default", {made.layer.out, made.rank});
}

namespace {

/// utils/other.py transpose: of a Conv1D's weight a new parameter, which gets a gradient that nobody takes.
Tensor weight_of(const Linear& layer) {
    if (!layer.is_conv1d) return layer.weight;
    const Tensor weight = transpose2d(detach(layer.weight));
    weight.set_requires_grad(true);
    return weight;
}

}  // namespace

// The weight is multiplied, element by element, by a product of two narrow matrices.
Tensor hira(const Linear& layer, const Tensor& x) {
    const OtherAdapter& adapter = *layer.other;
    Tensor result = base_layer(layer, x);
    const DType dtype = result.dtype();
    const Tensor product = matmul(transpose2d(adapter[0]), transpose2d(adapter[1]));
    const Tensor input = to(x, adapter[0].dtype());
    const Tensor dropped = dropout(input, adapter.dropout);
    const Tensor output = functional_linear(dropped, mul(weight_of(layer), transpose2d(product)));
    result = add(result, output);
    return to(result, dtype);
}

}  // namespace vramfit::model
