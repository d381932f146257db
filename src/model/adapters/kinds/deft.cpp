// peft 0.21.2 tuners/deft/layer.py DeftLinear with the decomposition "relu".
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

namespace {

/// reset_deft_parameters: R starts as what P sees of the weight, in float32 and on the device.
void project_weight(const NewAdapter& made) {
    Session& session = made.run.session;
    const Linear& layer = made.layer;
    const Tensor p = moved_from_host(session, {layer.out, made.rank}, DType::float32);
    const Tensor right = relu(p);
    const Tensor own = to(detach(layer.weight), DType::float32);
    const Tensor weight = layer.is_conv1d ? transpose2d(own) : own;
    Tensor r = matmul(transpose2d(right), weight);
    r = div(r, 1.0);
    session.streams.host_waits(0);
}

}  // namespace

void create_deft(const NewAdapter& made) {
    const AdapterOptions& options = made.plan().options;
    if (!options.para && options.init_weights) project_weight(made);
    made.add("deft_P.default", {made.layer.out, made.rank});
    if (!options.para) made.add("deft_R.default", {made.rank, made.layer.in});
}

Tensor deft(const Linear& layer, const Tensor& x) {
    const OtherAdapter& adapter = *layer.other;
    const Tensor base = base_layer(layer, x);
    Tensor result = to(base, DType::float32);
    const Tensor product = layer.bias.defined() ? sub(result, to(layer.bias, DType::float32)) : result;
    const Tensor input = to(x, DType::float32);
    const Tensor p = to(adapter[0], DType::float32);
    const Tensor right = relu(p);
    const Tensor correction = [&] {
        const Tensor inner = matmul(product, right);
        return matmul(inner, transpose2d(p));
    }();
    result = sub(result, correction);
    if (!adapter.plan->options.para) {
        const Tensor r = mul(to(adapter[1], DType::float32), 1.0);
        const Tensor dropped = dropout(input, adapter.dropout);
        result = add(result, [&] {
            const Tensor inner = functional_linear(dropped, r);
            return matmul(inner, transpose2d(p));
        }());
        return to(result, x.dtype());  // before r and the dropped input go
    }
    return to(result, x.dtype());
}

}  // namespace vramfit::model
