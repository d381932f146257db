// bitsandbytes 0.50.2: nn/modules.py Linear8bitLt, autograd/_functions.py MatMul8bitLt, backends/cuda/ops.py int8_*.
#include "model/quantizers/int8.hpp"

#include "engine/node.hpp"
#include "engine/ops/copy.hpp"
#include "engine/ops/matmul.hpp"
#include "engine/ops/nonzero.hpp"
#include "engine/ops/pointwise.hpp"
#include "engine/ops/reduce.hpp"
#include "engine/ops/view.hpp"
#include "engine/session.hpp"
#include "vramfit/base/error.hpp"

namespace vramfit::model {

using namespace engine;

namespace {

struct Quantized {
    Tensor rows;    ///< int8
    Tensor scales;  ///< float32, one for each row
};

/// The search for outlier columns; none is found. `a` -- [rows, K] float16.
Tensor outlier_mask(const Tensor& a, bool has_outliers) {
    Tensor outliers;
    {
        const Tensor magnitude = pointwise_result(a, a.dtype(), Op::abs);
        outliers = compare(Op::ge, magnitude);
    }
    { const Tensor any = reduce(outliers, 3u, false, DType::boolean, Op::any); }
    if (has_outliers) nonzero(reduce(outliers, 1u, false, DType::boolean, Op::any), 0);
    return outliers;
}

/// int8_vectorwise_quant: `a` -- [rows, K] float16.
Quantized vectorwise_quant(const Tensor& a, double threshold, bool has_outliers) {
    Session& session = a.session();
    Quantized q;
    q.scales = empty(session, {a.size(0)}, DType::float32, Op::int8_vectorwise_quant);
    q.rows = empty(session, a.sizes(), DType::int8, Op::int8_vectorwise_quant);
    if (threshold <= 0.0) return q;
    const Tensor outliers = outlier_mask(a, has_outliers);
    // out_row[:, outlier_cols] = 0: the number comes from the host.
    if (session.decide("more than one row", a.size(0) > 1))
        const Tensor zero = empty(session, {}, DType::int8, Op::index_put);
    return q;
}

/// int8_linear_matmul: `a` -- [rows, K], `b` -- [N, K], both int8; the result is int32.
Tensor int8_product(const Tensor& a, const Tensor& b) {
    Session& session = a.session();
    Tensor out = empty(session, {a.size(0), b.size(0)}, DType::int32, Op::int8_linear_matmul);
    if (session.decide("int8 product", a.size(1) % 4 == 0)) return out;
    const Tensor left = to(a, DType::float32);
    const Tensor right = to(b, DType::float32);
    const Tensor product = to(matmul(left, transpose2d(right)), DType::int32);
    return out;
}

/// int8_scaled_mm: the kernel's result is float16, the bias is added in place.
Tensor scaled_product(const Quantized& a, const State8bit& state, DType dtype) {
    const Tensor product = int8_product(a.rows, state.matrix());
    const Tensor out = empty(product.session(), product.sizes(), DType::float16, Op::int8_mm_dequant);
    return to(out, dtype);
}

/// What MatMul8bitLt keeps in attributes of `ctx`: the input itself, outside of saved-tensor hooks.
struct MatMul8bitState : NodeState {
    State8bit weight;
    Tensor input;
    Dims shape;
    DType dtype = DType::float32;
    DType bias_dtype = DType::float32;
};

// MatMul8bitLt.backward: the weight is unpacked in the input's dtype.
void matmul_8bit_backward(Node& node, Grads& in, Grads& out) {
    const auto& state = static_cast<const MatMul8bitState&>(*node.state);
    Tensor grad = in[0];
    if (node.wants(1)) out[1] = sum_dim(grad, 0, false, state.bias_dtype);
    if (grad.dim() == 3) grad = contiguous(reshape(grad, {-1, grad.size(-1)}));
    if (!node.wants(0)) return;
    const State8bit& weight = state.weight;
    const Tensor unpacked = empty(*node.session, weight.packed.sizes(), state.dtype, Op::to_copy);
    label(unpacked, Category::dequantized_weights);
    { const Tensor scales = mul(unsqueeze(weight.scales, 1), 1.0); }
    out[0] = view(matmul(to(grad, state.dtype), unpacked), state.shape);
}
const NodeType kMatMul8bitBackward{"MatMul8bitLtBackward", matmul_8bit_backward};

/// MatMul8bitLt.forward.
Tensor product(const Tensor& input, const State8bit& state, Node* node) {
    const GradMode no_grad(input.session(), false);
    const Tensor a = input.dim() == 3 ? reshape(input, {-1, input.size(-1)}) : input;
    const Quantized quantized = vectorwise_quant(to(a, DType::float16), state.threshold, state.has_outliers);
    const Tensor out = scaled_product(quantized, state, a.dtype());
    if (node) {
        static_cast<MatMul8bitState&>(*node->state).input = a;
        label_saved(a);
    }
    if (input.dim() != 3) return out;
    return view(out, {input.size(0), input.size(1), state.packed.size(0)});
}

}  // namespace

State8bit quantize_8bit(Session& session, const Dims& sizes, double threshold) {
    if (!session.stack.layers_8bit_are_row_major()) return quantize_8bit_by_rows_and_columns(session, sizes, threshold);
    const Tensor half = empty(session, sizes, DType::float16, Op::to_copy);
    const Quantized q = vectorwise_quant(half, 0.0, false);
    label(q.scales, Category::quantization_state);
    State8bit state;
    state.packed = q.rows;
    state.scales = q.scales;
    state.threshold = threshold;
    return state;
}

Tensor dequantize_8bit(const State8bit& state) {
    // peft 0.10 utils/integrations.py dequantize_bnb_weight: a product with the identity.
    if (state.layout)
        throw Error(ErrorKind::unsupported, "peft.use_dora",
                    "DoRA over 8-bit layers of this version of bitsandbytes is not supported",
                    "load_in_4bit, or bitsandbytes 0.45 and later");
    return mul(mul(state.packed, unsqueeze(state.scales, 1)), 1.0);
}

Tensor linear_8bit(const Linear& layer, const Tensor& x) {
    const State8bit& state = *layer.in_8bit;
    if (state.layout) return linear_8bit_turned(layer, x);
    const Tensor& bias = layer.bias;
    if (bias.defined() && bias.dtype() != x.dtype()) set_data(bias, to(detach(bias), x.dtype()));
    Ref<Node> node;
    if (needs_grad(x, bias)) {
        node = make_node(x.session(), kMatMul8bitBackward);
        add_edge(*node, x);
        add_edge(*node, bias);
        auto attributes = std::make_unique<MatMul8bitState>();
        attributes->weight = state;
        attributes->shape = x.sizes();
        attributes->dtype = x.dtype();
        if (bias.defined()) attributes->bias_dtype = bias.dtype();
        node->state = std::move(attributes);
    }
    Tensor out = product(x, state, x.requires_grad() ? node.get() : nullptr);
    if (node) set_history(out, node);
    if (state.whole.defined()) set_data(state.packed, alias(state.whole, state.whole.sizes(), state.whole.strides()));
    return out;
}

}  // namespace vramfit::model
