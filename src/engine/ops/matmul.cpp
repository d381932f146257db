// mm, bmm, addmm and what matmul and linear make of them (torch 2.11 ATen/native/LinearAlgebra.cpp, Linear.cpp,
// cuda/Blas.cpp).
#include "engine/ops/matmul.hpp"

#include "engine/autocast.hpp"
#include "engine/ops/copy.hpp"
#include "engine/ops/in_place.hpp"
#include "engine/ops/pointwise.hpp"
#include "engine/ops/reduce.hpp"
#include "engine/ops/view.hpp"
#include "engine/session.hpp"

namespace vramfit::engine {

namespace {

bool column_major(const Dims& sizes, const Dims& strides) { return strides[1] == sizes[0] && strides[0] == 1; }

// FunctionsManual.cpp mm_mat1_grad, mm_mat2_grad; `b`'s gradient first.
void mm_backward(Node& node, Grads& in, Grads& out) {
    const Tensor a = node.unpack(0);
    const Tensor b = node.unpack(1);
    const Tensor& grad = in[0];
    if (node.wants(1)) {
        if (node.ints[1])
            out[1] = transpose2d(mm(transpose2d(grad), a));
        else
            out[1] = mm(transpose2d(a), grad);
    }
    if (node.wants(0)) {
        if (node.ints[0])
            out[0] = transpose2d(mm(b, transpose2d(grad)));
        else
            out[0] = mm(grad, transpose2d(b));
    }
}
const NodeType kMmBackward{"MmBackward0", mm_backward};

void addmm_backward(Node& node, Grads& in, Grads& out) {
    const Tensor a = node.unpack(0);
    const Tensor b = node.unpack(1);
    const Tensor& grad = in[0];
    if (node.wants(1)) out[1] = node.ints[0] ? transpose2d(mm(b, transpose2d(grad))) : mm(grad, transpose2d(b));
    if (node.wants(2)) out[2] = node.ints[1] ? transpose2d(mm(transpose2d(grad), a)) : mm(transpose2d(a), grad);
    if (node.wants(0)) out[0] = grad;
}
const NodeType kAddmmBackward{"AddmmBackward0", addmm_backward};

// bmm: self: grad.bmm(mat2.transpose(1, 2)), mat2: self.transpose(1, 2).bmm(grad); `mat2` first.
void bmm_backward(Node& node, Grads& in, Grads& out) {
    const Tensor a = node.unpack(0);
    const Tensor b = node.unpack(1);
    if (node.wants(1)) out[1] = bmm(transpose(a, 1, 2), in[0]);
    if (node.wants(0)) out[0] = bmm(in[0], transpose(b, 1, 2));
}
const NodeType kBmmBackward{"BmmBackward0", bmm_backward};

/// A node for a product of a and b; each is kept only for the other one's gradient.
Ref<Node> product_node(const Tensor& a, const Tensor& b, const NodeType& type) {
    if (!needs_grad(a, b)) return {};
    Ref<Node> node = make_node(a.session(), type);
    add_edge(*node, a);
    add_edge(*node, b);
    node->save(b.requires_grad() ? a : Tensor());
    node->save(a.requires_grad() ? b : Tensor());
    if (a.dim() == 2) {
        node->ints[0] = column_major(a.sizes(), a.strides());
        node->ints[1] = column_major(b.sizes(), b.strides());
    }
    return node;
}

/// LinearAlgebra.cpp should_fold: a matrix product instead of a batched one, if that copies nothing.
bool should_fold(const Tensor& a, const Tensor& b) {
    if (!(a.dim() >= 3 && b.dim() <= 2)) return false;
    if (b.requires_grad()) return true;
    for (int i = 0; i < a.dim() - 2; ++i)
        if (a.strides()[i] != a.strides()[i + 1] * a.size(i + 1)) return false;
    return true;
}

Tensor fold(const Tensor& a, const Tensor& b) {
    const Tensor folded = reshape(a, {-1, a.size(-1)});
    Dims sizes = a.sizes();
    sizes[-1] = b.size(-1);
    return unsafe_view(mm(folded, b), sizes);
}

Tensor batched(const Tensor& a, const Tensor& b) {
    Dims batch;
    const int rank = std::max(a.dim(), b.dim());
    Dims a_batch, b_batch;
    for (int i = 0; i < a.dim() - 2; ++i) a_batch.push(a.size(i));
    for (int i = 0; i < b.dim() - 2; ++i) b_batch.push(b.size(i));
    batch = broadcast_sizes(a_batch, b_batch);
    Dims a_sizes = batch, b_sizes = batch, out_sizes = batch;
    a_sizes.push(a.size(-2));
    a_sizes.push(a.size(-1));
    b_sizes.push(b.size(-2));
    b_sizes.push(b.size(-1));
    out_sizes.push(a.size(-2));
    out_sizes.push(b.size(-1));
    const Size product = numel_of(batch);
    const Tensor a3 = reshape(expand(a, a_sizes), {product, a.size(-2), a.size(-1)});
    const Tensor b3 = reshape(expand(b, b_sizes), {product, b.size(-2), b.size(-1)});
    (void)rank;
    return unsafe_view(bmm(a3, b3), out_sizes);
}

}  // namespace

// cuda/Blas.cpp prepare_matrix_for_cublas; the last two dimensions count.
Tensor readable_copy(const Tensor& t) {
    const Size rows = t.size(-2), cols = t.size(-1);
    const Size rs = t.strides()[-2], cs = t.strides()[-1];
    const auto row_major = [&] { return cs == 1 && rs >= larger(1, cols); };
    const auto column_major = [&] { return rs == 1 && cs >= larger(1, rows); };
    const bool ok = is_formally_dense({rows, cols}, {rs, cs}) || row_major() || column_major() ||
                    is_non_overlapping_and_dense({rows, cols}, {rs, cs});
    if (t.session().decide("operand readable", ok)) return {};
    return clone_contiguous(detach(t));
}

void cublas_workspace(Session& session) {
    if (!session.stack.cublas_workspace_stays() && !session.on_host) {
        (void)empty(session, {session.cublas_workspace_bytes}, DType::uint8, Op::cublas_workspace);
        return;
    }
    Tensor& place = session.cublas_scratch();
    if (place.defined() || session.on_host) return;
    const Scoped<Module> nobody(session.recorder.module, {});
    place = empty(session, {session.cublas_workspace_bytes}, DType::uint8, Op::cublas_workspace);
    label(place, Category::workspaces);
}

void cublaslt_workspace(Session& session) {
    if (session.stack.cublaslt_shares_its_workspace()) return cublas_workspace(session);
    if (!session.stack.cublas_workspace_stays()) {
        (void)empty(session, {session.cublaslt_workspace_bytes}, DType::uint8, Op::cublaslt_workspace);
        return;
    }
    if (!session.stack.cublaslt_workspace_stays()) {
        // CUDABlas.cpp gemm_and_bias: its own scratch, then the cuBLAS handle with its workspace.
        const Tensor scratch = empty(session, {session.cublaslt_workspace_bytes}, DType::uint8, Op::cublaslt_workspace);
        cublas_workspace(session);
        return;
    }
    cublas_workspace(session);  // cuda/CublasHandlePool.cpp getCurrentCUDABlasLtHandle is cuBLAS' handle
    if (session.cublaslt_workspace_bytes == 0) return;
    Tensor& place = session.workspaces.cublaslt[static_cast<int>(session.thread)];
    if (place.defined()) return;
    const Scoped<Module> nobody(session.recorder.module, {});
    place = empty(session, {session.cublaslt_workspace_bytes}, DType::uint8, Op::cublaslt_workspace);
    label(place, Category::workspaces);
}

Tensor mm(const Tensor& a, const Tensor& b) {
    const Ref<Node> node = product_node(a, b, kMmBackward);
    Tensor out = empty(a.session(), {a.size(0), b.size(1)}, a.dtype(), Op::mm);
    const Tensor copy_a = readable_copy(a);
    const Tensor copy_b = readable_copy(b);
    cublas_workspace(a.session());
    if (node) set_history(out, node);
    return out;
}

Tensor bmm(const Tensor& a, const Tensor& b) {
    const Ref<Node> node = product_node(a, b, kBmmBackward);
    Tensor out = empty(a.session(), {a.size(0), a.size(1), b.size(2)}, a.dtype(), Op::bmm);
    // torch/_native/ops/bmm_outer_product/triton_impl.py _is_outer_product: a kernel that reads any strides.
    const bool outer = a.session().stack.outer_products_are_native() &&
                       a.session().decide("outer product", a.size(2) == 1 && b.size(1) == 1);
    if (outer) {
        if (node) set_history(out, node);
        return out;
    }
    const Tensor copy_a = readable_copy(a);
    const Tensor copy_b = readable_copy(b);
    cublas_workspace(a.session());
    if (node) set_history(out, node);
    return out;
}

Tensor addmm(const Tensor& bias, const Tensor& a, const Tensor& b) {
    Ref<Node> node;
    if (needs_grad(bias, a, b)) {
        node = make_node(a.session(), kAddmmBackward);
        add_edge(*node, bias);
        add_edge(*node, a);
        add_edge(*node, b);
        node->save(b.requires_grad() ? a : Tensor());
        node->save(a.requires_grad() ? b : Tensor());
        node->ints[0] = column_major(a.sizes(), a.strides());
        node->ints[1] = column_major(b.sizes(), b.strides());
    }
    Tensor out = empty(a.session(), {a.size(0), b.size(1)}, a.dtype(), Op::addmm);
    const Tensor copy_a = readable_copy(a);
    const Tensor copy_b = readable_copy(b);
    // cuda/Blas.cpp isInputCompliesAddmmCudaLt asks for more than one row and column of the second matrix.
    if (a.session().decide("addmm by cuBLASLt", b.size(0) > 1 && b.size(1) > 1))
        cublaslt_workspace(a.session());
    else
        cublas_workspace(a.session());
    if (node) set_history(out, node);
    return out;
}

// Under autocast the last argument is cast first: g++ evaluates arguments from the right (autocast_mode.h
// WrapFunction_).
Tensor matmul(const Tensor& left, const Tensor& right) {
    const Tensor b = autocast_to_lower(right);
    const Tensor a = autocast_to_lower(left);
    if (a.dim() == 2 && b.dim() == 2) return mm(a, b);
    // LinearAlgebra.cpp _matmul_impl: a matrix that wants a gradient, and what is behind it turned round and back
    // again.
    if (a.dim() == 2 && b.dim() >= 3 && a.requires_grad())
        return contiguous(transpose(fold(transpose(b, -2, -1), transpose2d(a)), -2, -1));
    return should_fold(a, b) ? fold(a, b) : batched(a, b);
}

/// The same of a layer's weight, whose transposition wants a gradient under no_grad too (torch 2.11 and 2.15: seen in
/// the profiler).
Tensor weight_product(const Tensor& input, const Tensor& weight, const Tensor& matrix) {
    if (input.dim() == 2) return mm(input, matrix);
    return weight.requires_grad() || should_fold(input, matrix) ? fold(input, matrix) : batched(input, matrix);
}

Tensor linear(const Tensor& x, const Tensor& w, const Tensor& b) {
    const Tensor bias = autocast_to_lower(b);
    const Tensor weight = autocast_to_lower(w);
    const Tensor input = autocast_to_lower(x);
    const Scoped<bool> off(x.session().autocast.enabled, false);
    const Tensor matrix = transpose2d(weight);
    if (!bias.defined()) return weight_product(input, weight, matrix);
    if (input.dim() == 2) return addmm(bias, input, matrix);
    if (input.session().decide("linear flattens", input.is_contiguous())) {
        // Linear.cpp _flatten_nd_linear.
        Dims sizes = input.sizes();
        sizes[-1] = weight.size(0);
        const Tensor flat = reshape(input, {-1, input.size(-1)});
        return view(addmm(bias, flat, matrix), sizes);
    }
    Tensor out = weight_product(input, weight, matrix);
    add_(out, bias);
    add_in_place(out, bias);
    return out;
}

}  // namespace vramfit::engine
