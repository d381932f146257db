// peft 0.21.2 tuners/lora/dora.py and variants.py.
#include "model/adapters/dora.hpp"

#include "engine/ops/copy.hpp"
#include "engine/ops/dropout.hpp"
#include "engine/ops/embedding.hpp"
#include "engine/ops/matmul.hpp"
#include "engine/ops/pointwise.hpp"
#include "engine/ops/reduce.hpp"
#include "engine/ops/view.hpp"
#include "engine/session.hpp"
#include "model/network/called.hpp"
#include "model/network/deep_copy.hpp"
#include "model/network/modules.hpp"
#include "model/quantizers/int8.hpp"
#include "model/quantizers/quantized.hpp"

namespace vramfit::model {

using namespace engine;

namespace {

QuantState4bit copied_state(const QuantState4bit& state) {
    QuantState4bit copy = state;
    copy.absmax = deep_copy(state.absmax);
    copy.code = deep_copy(state.code);
    copy.offset = deep_copy(state.offset);
    copy.nested_absmax = deep_copy(state.nested_absmax);
    copy.nested_code = deep_copy(state.nested_code);
    return copy;
}

/// copy.deepcopy of a Linear4bit: its state stands in the weight and in the module, and is copied for both.
struct LayerCopy {
    QuantState4bit weight;
    Tensor bias;
    QuantState4bit module;

    explicit LayerCopy(const Linear& layer) : weight(copied_state(*layer.quantized)) {
        weight.packed = deep_copy(layer.quantized->packed);
        if (layer.bias.defined()) bias = clone(detach(layer.bias));
        module = copied_state(*layer.quantized);
    }
};

/// utils/integrations.py dequantize_module_weight.
Tensor dequantized_weight(const Linear& layer) {
    if (layer.in_8bit) return dequantize_8bit(*layer.in_8bit);
    if (!layer.quantized) return layer.weight;
    return dequantize_4bit(layer.quantized->packed.session(), *layer.quantized, {layer.out, layer.in});
}

/// transpose(weight, fan_in_fan_out): a Conv1D's weight lies the other way round.
Tensor turned(const Linear& layer, const Tensor& weight) {
    return layer.is_conv1d && !is_packed(layer) ? transpose2d(weight) : weight;
}

/// peft 0.21 utils/other.py transpose: of a parameter it makes a new one, which wants a gradient.
Tensor parameter_again(const Linear& layer, const Tensor& weight) {
    if (!layer.is_conv1d || is_packed(layer) || weight.dtype() != layer.weight.dtype()) return weight;
    Tensor out = detach(weight);
    out->is_view = false;
    out.set_requires_grad(true);
    return out;
}

/// get_weight_norm: `weight` -- [out, in].
Tensor weight_norm(const Tensor& source, const Tensor& lora_weight) {
    const Tensor weight = add(source, mul(lora_weight, 1.0));
    return to(vector_norm(weight, 1), weight.dtype());
}

/// lora_B(lora_A(x)).
Tensor adapted(const Linear& layer, const Tensor& x) {
    const LoraAdapter& adapter = *layer.lora;
    const Tensor inner =
        called(&layer, Part::lora_a, x, [&](const Tensor& given) { return functional_linear(given, adapter.a); });
    return called(&layer, Part::lora_b, inner,
                  [&](const Tensor& given) { return functional_linear(given, adapter.b); });
}

/// get_lora_weight: an identity matrix goes through the adapter; before 0.12 its matrices are multiplied. `x_eye` is
/// the function's own variable since there is one.
Tensor lora_weight_of(const Linear& layer, DType of_input, Tensor& kept_eye) {
    const LoraAdapter& adapter = *layer.lora;
    const Stack& stack = adapter.a.session().stack;
    if (!stack.dora_multiplies_an_identity()) return matmul(adapter.b, adapter.a);
    read(adapter.a);
    const Size n = adapter.a.size(1);
    const DType dtype = stack.dora_identity_has_adapter_dtype() ? adapter.a.dtype() : of_input;
    const Tensor x_eye = empty(adapter.a.session(), {n, n}, dtype, Op::eye);
    if (!stack.dora_identity_has_adapter_dtype()) kept_eye = x_eye;
    return transpose2d(adapted(layer, x_eye));
}

/// update_layer begins with converting float16: the matrices -- [r, in] and [out, r].
struct StartingMatrices {
    Tensor a;
    Tensor b;
    bool half;

    StartingMatrices(const Tensor& matrix_a, const Tensor& matrix_b)
        : a(matrix_a), b(matrix_b), half(a.dtype() == DType::float16 && a.session().stack.dora_starts_in_float32()) {
        a.set_requires_grad(true);
        b.set_requires_grad(true);
        if (!half) return;
        a = to(a, DType::float32);
        b = to(b, DType::float32);
    }
};

/// The part of update_layer behind the weight.
Tensor initial_magnitude(const Tensor& weight, const StartingMatrices& matrices, bool transposed) {
    Tensor lora_weight = matmul(matrices.b, matrices.a);
    if (matrices.half) lora_weight = to(lora_weight, DType::float16);
    const Tensor norm = weight_norm(transposed ? transpose2d(weight) : weight, lora_weight);
    Tensor magnitude = detach(norm);
    magnitude->is_view = false;
    return magnitude;
}

}  // namespace

Tensor dora_magnitude(const Linear& layer, const LoraAdapter& adapter) {
    const StartingMatrices matrices(adapter.a, adapter.b);
    std::optional<LayerCopy> copy;
    if (layer.quantized && adapter.a.session().stack.dora_copies_quantized_layers()) copy.emplace(layer);
    return initial_magnitude(turned(layer, dequantized_weight(layer)), matrices, false);
}

Tensor dora_magnitude(const Embedding& layer, const LoraEmbeddingAdapter& adapter) {
    return initial_magnitude(layer.weight, StartingMatrices(adapter.a, adapter.b), true);
}

Tensor dora_delta(const Linear& layer, const Tensor& x, const Tensor& result) {
    const LoraAdapter& adapter = *layer.lora;
    const Stack& stack = x.session().stack;
    const bool drops = adapter.dropout != 0.0 && x.session().training;
    const bool reuses = stack.dora_reuses_the_result() && !drops;
    const bool identity = stack.dora_multiplies_an_identity();
    Tensor base_result = reuses ? result : Tensor();
    Tensor lora_result, x_eye;
    if (identity && !stack.dora_reuses_the_result()) lora_result = adapted(layer, x);
    Tensor lora_weight = lora_weight_of(layer, x.dtype(), x_eye);
    if (stack.dora_identity_has_adapter_dtype()) lora_weight = to(lora_weight, x.dtype());
    if (layer.weight.defined()) read(layer.weight);
    Tensor weight = dequantized_weight(layer);
    weight = turned(layer, to(weight, x.dtype()));
    Tensor norm = weight_norm(weight, identity ? detach(lora_weight) : lora_weight);
    norm = detach(norm);
    const Tensor magnitude = view(div(adapter.magnitude, norm), {1, -1});
    if (stack.dora_reuses_the_result()) {
        lora_result = adapted(layer, x);
        if (!reuses)
            base_result = functional_linear(x, parameter_again(layer, weight));
        else if (layer.bias.defined())
            base_result = sub(base_result, layer.bias);
        const Tensor left = mul(sub(magnitude, 1), base_result);
        const Tensor right = mul(mul(magnitude, lora_result), 1.0);
        return add(left, right);
    }
    const Tensor left = [&] {
        const Tensor less = sub(magnitude, 1);
        return mul(less, functional_linear(x, parameter_again(layer, weight)));
    }();
    const auto scaled_result = [&] { return mul(magnitude, identity ? lora_result : adapted(layer, x)); };
    const Tensor right = mul(scaled_result(), 1.0);
    return add(left, right);
}

Tensor dora_linear(const Linear& layer, const Tensor& input, const Tensor& result) {
    Tensor x = input;  // lives as long as the function
    if (layer.lora->dropout != 0.0 && input.session().training)
        x = called(&layer, Part::dropout, input,
                   [&layer](const Tensor& given) { return dropout(given, layer.lora->dropout); });
    return add(result, called(&layer, Part::magnitude, x,
                              [&](const Tensor& given) { return dora_delta(layer, given, result); }));
}

Tensor dora_embedding(const Embedding& layer, const Tensor& ids, const Tensor& result) {
    const LoraEmbeddingAdapter& adapter = *layer.lora;
    read(adapter.a);
    const Tensor a = transpose2d(adapter.a);
    read(adapter.b);
    const Tensor b = transpose2d(adapter.b);
    Tensor magnitude, dora_result;
    ModuleHooks* const hooks = ids.session().module_hooks;
    if (hooks) hooks->before(key_of(&layer, Part::magnitude), ids);
    {
        read(layer.weight);
        const Tensor lora_weight = transpose2d(matmul(a, b));
        const Tensor norm = weight_norm(transpose2d(layer.weight), detach(lora_weight));
        magnitude = div(adapter.magnitude, norm);
        dora_result = mul(mul(magnitude, matmul(engine::embedding(a, ids), b)), 1.0);
    }
    Tensor* const outputs[] = {&magnitude, &dora_result};
    if (hooks) hooks->after_all(key_of(&layer, Part::magnitude), outputs);
    if (layer.scale.defined()) dora_result = mul(dora_result, to(layer.scale, dora_result.dtype()));
    return add(mul(magnitude, result), dora_result);
}

}  // namespace vramfit::model
