// An autograd function in Python: what its forward makes is outside of the graph, what it keeps is kept afterwards.
#include "model/parallel/zero/linear.hpp"

#include "engine/node.hpp"
#include "engine/ops/matmul.hpp"
#include "engine/ops/pointwise.hpp"
#include "engine/ops/reduce.hpp"
#include "engine/ops/view.hpp"
#include "engine/session.hpp"

namespace vramfit::model {

using namespace engine;

namespace {

void stage3_linear_backward(Node& node, Grads& in, Grads& out) {
    const Tensor input = node.unpack(0), weight = node.unpack(1), bias = node.unpack(2);
    const Tensor& grad = in[0];
    Tensor of_input, of_weight, of_bias;
    if (node.wants(0)) of_input = matmul(grad, weight);
    if (node.wants(1)) {
        const Tensor rows = transpose2d(reshape(grad, {-1, grad.size(-1)}));
        of_weight = matmul(rows, reshape(input, {-1, input.size(-1)}));
    }
    if (node.wants(2)) {
        const auto leading = (1u << static_cast<unsigned>(grad.dim() - 1)) - 1u;
        of_bias = reduce(grad, leading, false, grad.dtype(), Op::sum);
    }
    out[0] = std::move(of_input);
    out[1] = std::move(of_weight);
    out[2] = std::move(of_bias);
}
constexpr NodeType kStage3Linear{"LinearFunctionForZeroStage3Backward", stage3_linear_backward};

}  // namespace

Tensor linear_of_stage3(const Tensor& input, const Tensor& weight, const Tensor& bias) {
    Session& session = input.session();
    Ref<Node> node;
    if (needs_grad(input, weight, bias)) {
        node = make_node(session, kStage3Linear);
        add_edge(*node, input);
        add_edge(*node, weight);
        add_edge(*node, bias);
    }
    Tensor output;
    {
        const GradMode no_grad(session, false);
        if (input.dim() == 2 && bias.defined()) {
            output = addmm(bias, input, transpose2d(weight));
        } else {
            output = matmul(input, transpose2d(weight));
            if (bias.defined()) add_(output, bias);
        }
    }
    if (!node) return output;
    node->save(input);
    node->save(weight);
    node->save(bias);
    set_history(output, node);
    return output;
}

}  // namespace vramfit::model
