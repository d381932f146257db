// aten::convolution of one channel each (torch 2.11 ATen/native/Convolution.cpp, cuda/DepthwiseConv2d.cu).
#include "engine/ops/convolution.hpp"

#include "engine/autocast.hpp"
#include "engine/ops/copy.hpp"
#include "engine/ops/reduce.hpp"
#include "engine/session.hpp"

namespace vramfit::engine {

namespace {

// convolution_backward: a row is made dense before it becomes an image of one line; the weight's gradient comes first.
void convolution_backward(Node& node, Grads& in, Grads& out) {
    const Tensor input = node.unpack(0);
    const Tensor weight = node.unpack(1);
    Session& session = *node.session;
    const Tensor dense = contiguous(detach(input));
    const Tensor grad = contiguous(in[0]);
    if (node.wants(1)) out[1] = empty(session, weight.sizes(), weight.dtype(), Op::convolution_backward);
    if (node.wants(0)) out[0] = empty(session, input.sizes(), input.dtype(), Op::convolution_backward);
    // Convolution.cpp convolution_backward: these kernels know no bias, whose gradient is a sum over rows and places.
    if (node.wants(2)) out[2] = reduce(grad, 0b101, false, grad.dtype(), Op::sum);
}
const NodeType kConvolutionBackward{"ConvolutionBackward0", convolution_backward};

}  // namespace

// Convolution.cpp _select_conv_backend: depthwise kernels of its own, which need no scratch, but for float16.
Tensor conv1d_depthwise(const Tensor& t, const Tensor& of_weight, const Tensor& of_bias, Size padding) {
    const Tensor bias = of_bias.defined() ? autocast_to_lower(of_bias) : Tensor();
    const Tensor weight = autocast_to_lower(of_weight);
    const Tensor input = autocast_to_lower(t);
    Ref<Node> node;
    if (needs_grad(input, weight) || (bias.defined() && needs_grad(bias))) {
        node = make_node(t.session(), kConvolutionBackward);
        add_edge(*node, input);
        add_edge(*node, weight);
        if (bias.defined()) add_edge(*node, bias);
        node->save(input);
        node->save(weight);
    }
    const Tensor dense = contiguous(detach(input));
    Dims sizes = input.sizes();
    sizes[-1] += padding * 2 - weight.size(-1) + 1;
    Tensor out = empty(t.session(), sizes, input.dtype(), Op::conv_depthwise2d);
    if (node) set_history(out, node);
    return out;
}

}  // namespace vramfit::engine
