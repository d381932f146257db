// Casts, clones and fresh tensors.
#pragma once

#include "engine/tensor.hpp"

namespace vramfit::engine {

/// Tensor.to(dtype): the same tensor if nothing changes, else a copy with preserved strides.
Tensor to(const Tensor& t, DType dtype);
/// Tensor.to(dtype, memory_format=torch.contiguous_format): a dense copy, or the same tensor if the dtype is its own.
Tensor to_contiguous(const Tensor& t, DType dtype);
/// A copy of a host tensor on the device (Tensor.to(device)), dense as in the host.
Tensor to_device(const Tensor& host);
/// Tensor.clone() with preserved strides.
Tensor clone(const Tensor& t);
/// clone(memory_format=contiguous).
Tensor clone_contiguous(const Tensor& t);
/// Tensor.contiguous().
Tensor contiguous(const Tensor& t);
/// A copy of `t` with the strides of `model` if that one is dense (clone_obey_contract).
Tensor clone_as(const Tensor& t, const Tensor& model);

Tensor zeros(Session& session, const Dims& sizes, DType dtype);
Tensor zeros_like(const Tensor& t);
Tensor ones_like(const Tensor& t);
/// torch.arange(n) on the device.
Tensor arange(Session& session, Size n, DType dtype = DType::int64);

}  // namespace vramfit::engine
