// peft 0.21.2 tuners/adalora/layer.py SVDLinear, bnb.py and model.py AdaLoraModel.forward.
#include "model/adapters/kinds/adalora.hpp"

#include "engine/ops/copy.hpp"
#include "engine/ops/dropout.hpp"
#include "engine/ops/in_place.hpp"
#include "engine/ops/matmul.hpp"
#include "engine/ops/pointwise.hpp"
#include "engine/ops/reduce.hpp"
#include "engine/ops/view.hpp"
#include "engine/session.hpp"
#include "model/adapters/kinds/kinds.hpp"

namespace vramfit::model {

using namespace engine;

// In the order of adapter_layer_names. `ranknum` is frozen when it is made, and trained again once it is moved: what
// ParameterDict is given is a new parameter.
void create_adalora(const NewAdapter& made) {
    made.add("lora_A.default", {made.rank, made.layer.in});
    made.add("lora_B.default", {made.layer.out, made.rank});
    made.add("lora_E.default", {made.rank, 1});
    made.add("ranknum.default", {1});
}

namespace {

/// dropout(x) @ (lora_A * lora_E).T @ lora_B.T.
Tensor product_of(const OtherAdapter& adapter, const Tensor& x) {
    Tensor t = dropout(x, adapter.dropout);
    {
        const Tensor scaled = transpose2d(mul(adapter[0], adapter[2]));
        t = matmul(t, scaled);
    }
    return matmul(t, transpose2d(adapter[1]));
}

/// ... * scaling / ranknum.
Tensor scaled_by(Tensor t, const Tensor& rank) {
    t = mul(t, 1.0);
    return div(t, rank);
}

}  // namespace

Tensor adalora(const Linear& layer, const Tensor& x) {
    const OtherAdapter& adapter = *layer.other;
    Tensor result = base_layer_cloned(layer, x);
    const bool packed = layer.quantized || layer.in_8bit;
    const bool convert = packed && !x.session().autocast.enabled;
    const Tensor early = convert && layer.in_8bit ? to(x, DType::float32) : Tensor();
    const Tensor rank = add(adapter[3], 1.0);
    Tensor input = x;
    if (early.defined())
        input = early;
    else if (!packed || (convert && layer.quantized))
        input = to(x, adapter[0].dtype());
    Tensor output = product_of(adapter, input);
    if (convert) output = to(output, result.dtype());
    output = scaled_by(std::move(output), rank);
    if (layer.in_8bit) return add(result, output);
    add_in_place(result, output);
    return result;
}

// AdaLoraModel.forward: how far A and B are from orthogonal, added to the loss.
void add_orthogonality(const LoraPlan& plan, const Network& network, const Tensor& loss) {
    Tensor sum, covariance, identity;
    for (const NamedParameter& p : named_parameters(const_cast<Network&>(network))) {
        const bool is_a = p.parameter == "lora_A.default";
        if (!is_a && p.parameter != "lora_B.default") continue;
        const Tensor& matrix = *p.tensor;
        covariance = is_a ? matmul(matrix, transpose2d(matrix)) : matmul(transpose2d(matrix), matrix);
        identity = empty(loss.session(), covariance.sizes(), covariance.dtype(), Op::empty_like);
        const Tensor norm = [&] {
            const Tensor difference = sub(covariance, identity);
            return vector_norm(view(difference, {-1}), 0);
        }();
        if (sum.defined())
            add_in_place(sum, norm);
        else
            sum = add(norm, 0);
    }
    if (!sum.defined()) return;
    sum = div(sum, 1.0);
    add_in_place(loss, mul(sum, plan.options.orth_reg_weight));
}

}  // namespace vramfit::model
