// aten::baddbmm (torch 2.11 ATen/native/cuda/Blas.cpp baddbmm_out_cuda_impl; tools/autograd/derivatives.yaml).
#include "engine/ops/baddbmm.hpp"

#include "engine/ops/matmul.hpp"
#include "engine/ops/pointwise.hpp"
#include "engine/ops/view.hpp"
#include "engine/session.hpp"

namespace vramfit::engine {

namespace {

/// maybe_multiply.
Tensor scaled(const Tensor& t, bool by_one) { return by_one ? t : mul(t, 1.0); }

// batch1: grad @ batch2^T, batch2: batch1^T @ grad, both times alpha.
void baddbmm_backward(Node& node, Grads& in, Grads& out) {
    const Tensor a = node.unpack(0);
    const Tensor b = node.unpack(1);
    const bool by_one = node.ints[0] != 0;
    if (node.wants(1)) out[1] = scaled(bmm(in[0], transpose(b, 1, 2)), by_one);
    if (node.wants(2)) out[2] = scaled(bmm(transpose(a, 1, 2), in[0]), by_one);
    if (node.wants(0)) out[0] = in[0];
}
const NodeType kBaddbmmBackward{"BaddbmmBackward0", baddbmm_backward};

}  // namespace

Tensor baddbmm(const Tensor& self, const Tensor& a, const Tensor& b, double alpha) {
    Ref<Node> node;
    if (needs_grad(self, a, b)) {
        node = make_node(self.session(), kBaddbmmBackward);
        for (const Tensor& t : {self, a, b}) add_edge(*node, t);
        node->save(b.requires_grad() ? a : Tensor());
        node->save(a.requires_grad() ? b : Tensor());
        node->ints[0] = self.session().decide("baddbmm by one", alpha == 1.0);
    }
    Tensor out = empty(self.session(), {a.size(0), a.size(1), b.size(2)}, a.dtype(), Op::baddbmm);
    const Tensor copy_a = readable_copy(a);
    const Tensor copy_b = readable_copy(b);
    cublas_workspace(self.session());
    if (node) set_history(out, node);
    return out;
}

}  // namespace vramfit::engine
