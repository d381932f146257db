// aten::native_layer_norm (torch 2.2 and 2.11 ATen/native/cuda/layer_norm_kernel.cu).
#include "engine/ops/layer_norm.hpp"

#include <algorithm>

#include "engine/autocast.hpp"
#include "engine/ops/copy.hpp"
#include "engine/ops/pointwise.hpp"
#include "engine/ops/reduce.hpp"
#include "engine/session.hpp"

namespace vramfit::engine {

namespace {

/// LaunchGammaBetaBackwardCUDAKernel: very many short rows are summed in blocks first; 0: they are not.
Size partial_sums(const Session& session, Size rows, Size width) {
    constexpr Size kBlock = 32;
    if (!session.stack.layer_norm_sums_in_blocks()) return 0;
    if (rows <= 64 * 1024 || width / kBlock >= session.device.multiprocessors / 2) return 0;
    const Size across = (width + kBlock - 1) / kBlock;
    return std::min(64 * 1024 / 2 / across, (rows + kBlock - 1) / kBlock);
}

// layer_norm_backward_cuda: gradients of input, weight and bias, then a contiguous copy of the result's gradient.
void layer_norm_backward(Node& node, Grads& in, Grads& out) {
    const Tensor bias = node.unpack(0);
    const Tensor input = node.unpack(1);
    const Tensor weight = node.unpack(2);
    const Tensor mean = node.unpack(3);
    const Tensor rstd = node.unpack(4);
    Session& session = *node.session;
    const Tensor x = contiguous(input);
    if (node.wants(0)) out[0] = empty(session, x.sizes(), x.dtype(), Op::layer_norm_backward);
    if (node.wants(1)) out[1] = empty(session, weight.sizes(), weight.dtype(), Op::layer_norm_backward);
    if (node.wants(2)) out[2] = empty(session, weight.sizes(), weight.dtype(), Op::layer_norm_backward);
    const Tensor grad = contiguous(in[0]);
    if (!node.wants(1) && !node.wants(2)) return;
    const Size width = weight.size(0);
    const Size blocks = partial_sums(session, x.numel() / width, width);
    if (!session.decide("layer norm sums in blocks", blocks > 0)) return;
    Tensor parts[2];
    for (std::size_t i = 0; i < 2; ++i)
        if (node.wants(1 + i)) parts[i] = empty(session, {blocks, width}, weight.dtype(), Op::layer_norm_backward);
    for (std::size_t i = 0; i < 2; ++i)
        if (node.wants(1 + i)) out[1 + i] = sum_dim(parts[i], 0, false, weight.dtype());
}
const NodeType kLayerNormBackward{"NativeLayerNormBackward0", layer_norm_backward};

}  // namespace

// Under autocast the last argument is cast first (autocast_mode.h WrapFunction_).
Tensor layer_norm(const Tensor& t, const Tensor& of_weight, const Tensor& of_bias) {
    const Tensor bias = autocast_to_float32(of_bias);
    const Tensor weight = autocast_to_float32(of_weight);
    const Tensor input = autocast_to_float32(t);
    Session& session = t.session();
    Ref<Node> node;
    if (needs_grad(input, weight, bias)) {
        node = make_node(session, kLayerNormBackward);
        for (const Tensor* argument : {&input, &weight, &bias}) add_edge(*node, *argument);
        for (const Tensor* saved : {&bias, &input, &weight}) node->save(*saved);
    }
    const Tensor x = contiguous(detach(input));
    Tensor out = empty(session, input.sizes(), input.dtype(), Op::layer_norm);
    const Size rows = input.numel() / input.size(-1);
    const DType statistics = is_half(input.dtype()) ? DType::float32 : input.dtype();
    const Tensor mean = empty(session, {rows}, statistics, Op::layer_norm);
    const Tensor rstd = empty(session, {rows}, statistics, Op::layer_norm);
    if (node) {
        set_history(out, node);
        node->save(mean, true);
        node->save(rstd, true);
    }
    return out;
}

}  // namespace vramfit::engine
