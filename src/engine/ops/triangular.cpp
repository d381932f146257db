// aten::linalg_solve_triangular, triu and tril (torch 2.11 ATen/native/BatchLinearAlgebra.cpp,
// cuda/linalg/BatchLinearAlgebra.cpp triangular_solve_kernel; FunctionsManual.cpp linalg_solve_triangular_backward).
#include "engine/ops/triangular.hpp"

#include <utility>

#include "engine/ops/copy.hpp"
#include "engine/ops/matmul.hpp"
#include "engine/ops/pointwise.hpp"
#include "engine/ops/view.hpp"
#include "engine/session.hpp"

namespace vramfit::engine {

namespace {

Tensor transposed_last(const Tensor& t) { return transpose(t, -2, -1); }

/// The result is column-major. Many small systems are solved by one call, which takes the addresses of all matrices;
/// up to eight of 64 rows or more one after the other.
Tensor solved(const Tensor& a, const Tensor& b) {
    Session& session = a.session();
    const Tensor flipped = transposed_last(b);
    Dims strides = contiguous_strides(flipped.sizes());
    std::swap(strides[-1], strides[-2]);
    Tensor out = empty_strided(session, b.sizes(), strides, b.dtype(), Op::solve_triangular);
    Size batch = 1;
    for (int i = 0; i + 2 < a.dim(); ++i) batch *= a.size(i);
    const bool one_by_one = batch <= 8 && a.size(-1) >= 64;
    if (session.decide("triangular systems one by one", one_by_one)) {
        cublas_workspace(session);
        return out;
    }
    const Tensor addresses = arange(session, batch), others = arange(session, batch);
    cublas_workspace(session);
    return out;
}

// The gradient of `b` solves the transposed system; that of `a` is a product of it, of which a triangle counts.
void solve_triangular_backward(Node& node, Grads& in, Grads& out) {
    const Tensor a = node.unpack(0);
    const Tensor x = node.unpack(1);
    const Tensor of_b = solved(transposed_last(a), in[0]);
    if (node.wants(0)) {
        const Tensor minus = [&] {
            const Tensor product = matmul(of_b, transposed_last(x));
            return neg(product);
        }();
        out[0] = triangle(minus, Op::tril);
    }
    if (node.wants(1)) out[1] = of_b;
}
const NodeType kSolveTriangularBackward{"LinalgSolveTriangularBackward0", solve_triangular_backward};

// grad.tril(diagonal): the gradient's own triangle.
template <Op op>
void triangle_backward(Node&, Grads& in, Grads& out) {
    out[0] = triangle(in[0], op);
}
const NodeType kTrilBackward{"TrilBackward0", triangle_backward<Op::tril>};
const NodeType kTriuBackward{"TriuBackward0", triangle_backward<Op::triu>};

}  // namespace

bool is_readable_triangle(const Tensor& a) { return a.is_contiguous() || transposed_last(detach(a)).is_contiguous(); }

Tensor solve_triangular(const Tensor& a, const Tensor& b) {
    Ref<Node> node;
    if (needs_grad(a, b)) {
        node = make_node(a.session(), kSolveTriangularBackward);
        add_edge(*node, a);
        add_edge(*node, b);
        node->save(a);
    }
    Tensor out = solved(detach(a), detach(b));
    if (node) {
        set_history(out, node);
        node->save(out, true);
    }
    return out;
}

Tensor triangle(const Tensor& t, Op op) {
    Ref<Node> node;
    if (needs_grad(t)) {
        node = make_node(t.session(), op == Op::tril ? kTrilBackward : kTriuBackward);
        add_edge(*node, t);
    }
    Tensor out = empty(t.session(), t.sizes(), t.dtype(), op);
    if (node) set_history(out, node);
    return out;
}

}  // namespace vramfit::engine
