// Elementwise operators: result, type promotion, what they save, what their backward allocates.
// Source: torch 2.11 ATen/TensorIterator.cpp, tools/autograd/derivatives.yaml, torch/csrc/autograd/FunctionsManual.cpp.
#pragma once

#include "engine/tensor.hpp"

namespace vramfit::engine {

/// A Python number: it takes part in type promotion only by its kind.
struct Scalar {
    bool floating = true;
    Scalar(double) : floating(true) {}
    Scalar(int) : floating(false) {}
};

/// ATen/native/TypeProperties.cpp result_type: 0-dim tensors do not promote tensors with dimensions of the same kind.
DType result_type(const Tensor& a, const Tensor& b);
DType result_type(const Tensor& a, Scalar b);

/// A tensor for the result of a pointwise operator over the operands, with TensorIterator's strides.
Tensor pointwise_result(const Tensor& a, DType dtype, Op op);
Tensor pointwise_result(const Tensor& a, const Tensor& b, DType dtype, Op op);

Tensor add(const Tensor& a, const Tensor& b);
Tensor add(const Tensor& a, Scalar b);
/// In place; the result type must be a's.
void add_(const Tensor& a, const Tensor& b);
Tensor sub(const Tensor& a, const Tensor& b);
Tensor sub(const Tensor& a, Scalar b);
Tensor mul(const Tensor& a, const Tensor& b);
Tensor mul(const Tensor& a, Scalar b);
/// In place, on the tape.
void mul_(const Tensor& a, Scalar b);
Tensor div(const Tensor& a, const Tensor& b);
Tensor div(const Tensor& a, Scalar b);
Tensor neg(const Tensor& a);
/// pow(a, 2); a promotes to float32 under autocast.
Tensor square(const Tensor& a);
Tensor rsqrt(const Tensor& a);
Tensor cos(const Tensor& a);
Tensor sin(const Tensor& a);
Tensor tanh(const Tensor& a);
Tensor silu(const Tensor& a);
Tensor gelu(const Tensor& a);
Tensor relu(const Tensor& a);
Tensor reciprocal(const Tensor& a);
Tensor clamp(const Tensor& a);

/// Comparisons and logic: bool results of the broadcast shape, never on the tape.
Tensor compare(Op op, const Tensor& a, const Tensor& b);
Tensor compare(Op op, const Tensor& a);

/// where(condition, a, b).
Tensor where(const Tensor& condition, const Tensor& a, const Tensor& b);
/// The smaller one of each pair: torch.min(a, b).
Tensor minimum(const Tensor& a, const Tensor& b);
Tensor maximum(const Tensor& a, const Tensor& b);  ///< torch.max(a, b)
/// masked_fill with a number; `a` may require grad.
Tensor masked_fill(const Tensor& a, const Tensor& mask);

}  // namespace vramfit::engine
