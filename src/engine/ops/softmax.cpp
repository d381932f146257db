// Softmax operators (torch 2.11 ATen/native/SoftMax.cpp, cuda/SoftMax.cu).
#include "engine/ops/softmax.hpp"

#include "engine/autocast.hpp"
#include "engine/ops/copy.hpp"
#include "engine/ops/pointwise.hpp"
#include "engine/ops/reduce.hpp"
#include "engine/session.hpp"

namespace vramfit::engine {

namespace {

/// _softmax_backward_data(grad, result, dim, input_dtype): one result in the input's dtype. cuda/SoftMax.cu
/// host_softmax_backward reads its input contiguously; softmax_backward_cuda_out gives it tmp = grad * output, which is
/// contiguous where a gradient is only broadcast (a sum's).
template <Op op>
void softmax_backward(Node& node, Grads& in, Grads& out) {
    const Tensor result = node.unpack(0);
    if constexpr (op == Op::softmax_backward) {
        out[0] = empty(*node.session, node.dims[0], node.dtypes[0], op);
        const Tensor product = mul(detach(in[0]), detach(result));
        const Tensor read = contiguous(product);
    } else {
        const Tensor grad = contiguous(in[0]);
        out[0] = empty(*node.session, node.dims[0], node.dtypes[0], op);
    }
}
const NodeType kSoftmaxBackward{"SoftmaxBackward0", softmax_backward<Op::softmax_backward>};
const NodeType kLogSoftmaxBackward{"LogSoftmaxBackward0", softmax_backward<Op::log_softmax_backward>};

/// ATen/native/transformers/attention.cpp _safe_softmax: rows in which everything is masked become zero.
void clear_masked_rows(const Tensor& scores, Tensor& out) {
    Session& session = scores.session();
    const bool selects = session.stack.safe_softmax_selects();
    Tensor lowest;
    if (selects) lowest = empty(session, {}, out.dtype(), Op::scalar_tensor);
    const Tensor masked = compare(Op::eq, detach(scores));
    const Tensor rows = reduce(masked, 1u << (scores.dim() - 1), true, DType::boolean, Op::all);
    const Tensor zero = empty(session, {}, out.dtype(), Op::scalar_tensor);
    if (selects) out = empty(session, out.sizes(), out.dtype(), Op::where);
}

Tensor run(const Tensor& t, bool to_float32, Op op, const NodeType& type, bool safe = false) {
    // A half input with dtype=float32 is converted inside the kernel; bfloat16 is cast first (SoftMax.cpp softmax).
    DType result_dtype = t.dtype();
    Tensor input = t;
    if (to_float32) {
        result_dtype = DType::float32;
        if (t.dtype() == DType::bfloat16) input = to(t, DType::float32);
    } else if (t.dtype() == DType::float16 && t.session().autocast.enabled) {
        result_dtype = DType::float32;  // ATen/autocast_mode.h fp32_set_opt_dtype: the same with dtype=float32
    } else {
        input = autocast_to_float32(t);
        result_dtype = input.dtype();
    }
    Ref<Node> node;
    if (needs_grad(input)) {
        node = make_node(input.session(), type);
        add_edge(*node, input);
        node->dims[0] = input.sizes();
        node->dtypes[0] = input.dtype();
    }
    // Structured kernels have their result before cuda/SoftMax.cu host_softmax reads its input contiguously.
    Tensor out = empty(input.session(), input.sizes(), result_dtype, op);
    (void)contiguous(detach(input));
    if (safe) clear_masked_rows(input, out);
    if (node) {
        set_history(out, node);
        node->save(out, true);
    }
    return out;
}

}  // namespace

Tensor softmax(const Tensor& t, bool to_float32) { return run(t, to_float32, Op::softmax, kSoftmaxBackward); }

Tensor safe_softmax(const Tensor& t) { return run(t, false, Op::softmax, kSoftmaxBackward, true); }

Tensor softmax_in_own_dtype(const Tensor& t) {
    const Scoped<bool> no_autocast(t.session().autocast.enabled, false);
    return run(t, false, Op::softmax, kSoftmaxBackward);
}

Tensor log_softmax(const Tensor& t, bool to_float32) {
    return run(t, to_float32, Op::log_softmax, kLogSoftmaxBackward);
}

Tensor log_softmax_in_own_dtype(const Tensor& t) {
    const Scoped<bool> no_autocast(t.session().autocast.enabled, false);
    return run(t, false, Op::log_softmax, kLogSoftmaxBackward);
}

}  // namespace vramfit::engine
