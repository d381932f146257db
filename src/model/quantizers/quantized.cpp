// bitsandbytes 0.43.1 to 0.50.2: functional.py quantize_4bit, nn/modules.py Linear4bit, autograd/_functions.py
// MatMul4Bit.
#include "model/quantizers/quantized.hpp"

#include "engine/node.hpp"
#include "engine/ops/copy.hpp"
#include "engine/ops/matmul.hpp"
#include "engine/ops/pointwise.hpp"
#include "engine/ops/reduce.hpp"
#include "engine/ops/view.hpp"
#include "model/network/modules.hpp"
#include "model/quantizers/gemm_4bit.hpp"
#include "vramfit/base/checked.hpp"

namespace vramfit::model {

using namespace engine;

namespace {

constexpr Size kBlock = 64;         // blocksize of quantize_4bit
constexpr Size kNestedBlock = 256;  // of its absmax

Tensor kept(Tensor t, Category category) {
    label(t, category);
    return t;
}

/// get_4bit_type: a table from the host, divided by its largest entry in place.
Tensor code_of_4bit(Session& session) {
    const Tensor data = empty(session, {16}, DType::float32, Op::to_copy);
    const Tensor magnitude = empty(session, {16}, DType::float32, Op::abs);
    const Tensor largest = empty(session, {}, DType::float32, Op::max);
    return kept(data, Category::quantization_state);
}

/// quantize_blockwise of the absmax: packed to 8 bits, with a copy of the code table.
void quantize_absmax(QuantState4bit& state, const Tensor& absmax, Tensor& dynamic_code) {
    Session& session = absmax.session();
    state.offset = kept(mean_all(absmax), Category::quantization_state);
    Tensor centred;
    if (!session.stack.absmax_is_centred_in_place()) centred = sub(absmax, state.offset);
    if (!dynamic_code.defined())
        dynamic_code = kept(empty(session, {256}, DType::float32, Op::to_copy), Category::quantization_state);
    const Size blocks = ceil_div(absmax.numel(), kNestedBlock);
    state.nested_absmax =
        kept(empty(session, {blocks}, DType::float32, Op::quantize_blockwise), Category::quantization_state);
    state.absmax =
        kept(empty(session, absmax.sizes(), DType::uint8, Op::quantize_blockwise), Category::quantization_state);
    state.nested_code = dynamic_code;
    if (!session.stack.nested_code_is_shared())
        state.nested_code = kept(empty(session, {256}, DType::float32, Op::to_copy), Category::quantization_state);
}

/// What MatMul4Bit keeps in attributes of `ctx`: outside of saved-tensor hooks, until the node dies.
struct MatMul4BitState : NodeState {
    QuantState4bit weight;
    Dims shape;
    Tensor input;
    DType bias_dtype = DType::float32;
};

// MatMul4Bit.backward: the bias's gradient is summed over the first dimension, the weight is unpacked once more.
void matmul_4bit_backward(Node& node, Grads& in, Grads& out) {
    const auto& state = static_cast<const MatMul4BitState&>(*node.state);
    if (node.wants(1)) out[1] = sum_dim(in[0], 0, false, state.bias_dtype);
    if (!node.wants(0)) return;
    Tensor weight = dequantize_4bit(*node.session, state.weight, state.shape);
    weight = to(weight, in[0].dtype());
    out[0] = matmul(in[0], weight);
}
const NodeType kMatMul4BitBackward{"MatMul4BitBackward", matmul_4bit_backward};

/// Whether linear() takes its result alone: nothing is cast, copied, or taken to stay.
bool linear_takes_no_more(const Tensor& a, const Tensor& bias) {
    const Session& session = a.session();
    return !bias.defined() && is_formally_dense(a.sizes(), a.strides()) && session.cublas_scratch().defined() &&
           (!session.autocast.enabled || a.dtype() == session.autocast.dtype);
}

/// backends/cuda/ops.py bitsandbytes::gemm_4bit: the fused kernel, or unpack and multiply.
Tensor gemm_4bit(const Tensor& a, const QuantState4bit& state, const Dims& shape, const Tensor& bias) {
    Session& session = a.session();
    const Size rows = a.numel() / a.size(-1);
    const Size unpacks = unpacks_4bit(session.device, a.dtype(), rows, shape[0], shape[1]);
    Dims sizes = a.sizes();
    sizes[-1] = shape[0];
    if (unpacks.is_symbolic() && linear_takes_no_more(a, bias)) {
        // One formula for both: what is unpacked has no bytes where the kernel is fused.
        const Size blocks = state.offset.defined() ? unpacks * state.absmax.numel() : Size(0);
        const Tensor absmax = empty(session, {blocks}, DType::float32, Op::gemm_4bit);
        const Tensor centred = empty(session, {blocks}, DType::float32, Op::add);
        const Tensor weight = kept(empty(session, {unpacks * shape[0] * shape[1]}, a.dtype(), Op::gemm_4bit),
                                   Category::dequantized_weights);
        return empty(session, sizes, a.dtype(), Op::mm);
    }
    if (session.decide("gemm_4bit is fused", unpacks == 0)) {
        const Tensor input = contiguous(a);
        return empty(session, sizes, a.dtype(), Op::gemm_4bit);
    }
    Tensor absmax = state.absmax, unpacked;
    if (state.offset.defined()) {
        unpacked = empty(session, absmax.sizes(), DType::float32, Op::gemm_4bit);
        absmax = add(unpacked, state.offset);
    }
    const Tensor weight = kept(empty(session, shape, a.dtype(), Op::gemm_4bit), Category::dequantized_weights);
    return functional_linear(a, weight, bias);
}

/// MatMul4Bit.forward before there was an operator for the whole product.
Tensor unpack_and_multiply(const Tensor& a, const QuantState4bit& state, const Dims& shape, const Tensor& bias) {
    Tensor weight = dequantize_4bit(a.session(), state, shape);
    weight = to(weight, a.dtype());
    return linear(a, weight, bias);
}

Tensor product(const Tensor& a, const QuantState4bit& state, const Dims& shape, const Tensor& bias) {
    const GradMode no_grad(a.session(), false);
    if (a.session().stack.product_4bit_is_an_operator()) return gemm_4bit(a, state, shape, bias);
    return unpack_and_multiply(a, state, shape, bias);
}

/// functional.py gemv_4bit: one row, the kernel unpacks the weight.
Tensor gemv_4bit(const Tensor& a, const QuantState4bit& state, const Dims& shape, const Tensor& bias) {
    Session& session = a.session();
    Tensor absmax = state.absmax;
    if (state.offset.defined()) absmax = empty(session, absmax.sizes(), DType::float32, Op::dequantize_blockwise);
    Dims sizes = a.sizes();
    sizes[-1] = shape[0];
    const Tensor out = empty(session, sizes, a.dtype(), Op::gemm_4bit);
    if (bias.defined()) add_(out, bias);
    return out;
}

/// autograd/_functions.py matmul_4bit.
Tensor matmul_4bit(const Tensor& a, const QuantState4bit& state, const Dims& shape, const Tensor& bias) {
    Ref<Node> node;
    if (!a.session().stack.product_4bit_is_an_operator() &&
        a.session().decide("gemv_4bit", a.numel() == a.size(-1) && !a.requires_grad() && a.size(-1) % kBlock == 0))
        return gemv_4bit(a, state, shape, bias);
    if (needs_grad(a, bias)) {
        node = make_node(a.session(), kMatMul4BitBackward);
        add_edge(*node, a);
        add_edge(*node, bias);
        auto attributes = std::make_unique<MatMul4BitState>();
        attributes->weight = state;
        attributes->weight.packed = alias(state.packed, state.packed.sizes(), state.packed.strides());  // B.view(-1, 1)
        attributes->shape = shape;
        if (bias.defined()) attributes->bias_dtype = bias.dtype();
        if (a.session().stack.matmul_4bit_keeps_its_input()) {
            attributes->input = a;
            label_saved(a);
        }
        node->state = std::move(attributes);
    }
    Tensor out = product(a, state, shape, bias);
    if (node) set_history(out, node);
    return out;
}

/// Linear4bit.compute_dtype; set_compute_type takes the first input's if that is no float16.
DType compute_dtype(const Stack& stack, const QuantState4bit& state, const Tensor& x) {
    if (stack.layers_4bit_take_input_dtype() && !state.compute_dtype_decided) {
        if (x.dtype() != DType::float16) state.compute_dtype = x.dtype();
        state.compute_dtype_decided = true;
    }
    return state.compute_dtype;
}

}  // namespace

Tensor dequantize_4bit(Session& session, const QuantState4bit& state, const Dims& shape) {
    Tensor absmax = state.absmax;
    if (state.offset.defined())  // the offset is added in place
        absmax = empty(session, absmax.sizes(), DType::float32, Op::dequantize_blockwise);
    return kept(empty(session, shape, state.dtype, Op::dequantize_4bit), Category::dequantized_weights);
}

QuantState4bit quantize_4bit(const Tensor& weight, const QuantizationPlan& plan, Tensor& dynamic_code) {
    Session& session = weight.session();
    QuantState4bit state;
    state.dtype = weight.dtype();
    state.compute_dtype = plan.compute_dtype.value_or(DType::float32);
    const Tensor source = contiguous(weight);
    const Size n = weight.numel();
    Tensor absmax = empty(session, {ceil_div(n, kBlock)}, DType::float32, Op::quantize_4bit);
    const Size in_one = 2 * element_size(plan.storage);
    state.packed = kept(empty(session, {(n + 1) / in_one, 1}, plan.storage, Op::quantize_4bit), Category::weights);
    state.code = code_of_4bit(session);
    if (plan.double_quant)
        quantize_absmax(state, absmax, dynamic_code);
    else
        state.absmax = kept(absmax, Category::quantization_state);
    return state;
}

Tensor linear_4bit(const Linear& layer, const Tensor& x) {
    const QuantState4bit& state = *layer.quantized;
    const DType dtype = compute_dtype(x.session().stack, state, x);
    const Tensor input = to(x, dtype);
    // The bias's own storage is replaced: it keeps the compute dtype from the first forward on.
    if (layer.bias.defined() && layer.bias.dtype() != dtype) set_data(layer.bias, to(detach(layer.bias), dtype));
    const Tensor out = matmul_4bit(input, state, {layer.out, layer.in}, layer.bias);
    return to(out, x.dtype());
}

}  // namespace vramfit::model
