// Pairs of float32 as complex numbers, as rotary embeddings multiply them.
#pragma once

#include "engine/tensor.hpp"

namespace vramfit::engine {

/// complex64 has as many bytes as float64, which stands for it: no network of the engine has both.
inline constexpr DType kComplex = DType::float64;

/// torch.polar(absolute, angle) of what needs no gradient.
Tensor polar(const Tensor& absolute, const Tensor& angle);
/// torch.view_as_complex: the last dimension has the two parts.
Tensor view_as_complex(const Tensor& t);
Tensor view_as_real(const Tensor& t);
/// a * b of complex numbers; b needs no gradient.
Tensor mul_complex(const Tensor& a, const Tensor& b);

}  // namespace vramfit::engine
