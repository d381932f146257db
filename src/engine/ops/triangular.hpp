// Triangular systems and triangles of matrices.
#pragma once

#include "engine/tensor.hpp"

namespace vramfit::engine {

/// torch.linalg.solve_triangular(a, b, upper, left=True): `a` is dense in its last two dimensions or transposed so, of
/// at most 512 rows.
Tensor solve_triangular(const Tensor& a, const Tensor& b);
/// Whether solve_triangular reads the matrices as they lie.
bool is_readable_triangle(const Tensor& a);
/// Tensor.triu() and Tensor.tril().
Tensor triangle(const Tensor& t, Op op);

}  // namespace vramfit::engine
