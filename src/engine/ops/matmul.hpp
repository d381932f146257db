// Matrix products, linear layers, and the library workspaces they take.
#pragma once

#include "engine/tensor.hpp"

namespace vramfit::engine {

/// torch.mm(a, b): a -- [M, K], b -- [K, N].
Tensor mm(const Tensor& a, const Tensor& b);
/// torch.bmm(a, b): a -- [B, M, K], b -- [B, K, N].
Tensor bmm(const Tensor& a, const Tensor& b);
/// torch.addmm(bias, a, b).
Tensor addmm(const Tensor& bias, const Tensor& a, const Tensor& b);
/// torch.matmul for matrices and batches; casts under autocast.
Tensor matmul(const Tensor& a, const Tensor& b);
/// F.linear(input, weight, bias): weight -- [out, in]; `bias` may be undefined; casts under autocast.
Tensor linear(const Tensor& input, const Tensor& weight, const Tensor& bias = {});

/// Stands for a copy that a product makes of an operand it cannot read in place; undefined if it can. Dies after the
/// product.
Tensor readable_copy(const Tensor& t);

/// Takes the running thread's cuBLAS workspace if it has none yet.
void cublas_workspace(Session& session);
/// The same for cublasLt (products with a fused bias).
void cublaslt_workspace(Session& session);

}  // namespace vramfit::engine
