// Sorting, selecting and gathering rows: what the routing of a mixture of experts is made of.
#pragma once

#include "engine/tensor.hpp"

namespace vramfit::engine {

/// Values and their places, both dense; places are int64.
struct Picked {
    Tensor values;
    Tensor indices;
};

/// torch.sort(ids): ids -- [N] int64.
Picked sort(const Tensor& ids);

/// torch.topk(t, k, dim=-1): t -- [T, E]. The values may require grad.
Picked topk(const Tensor& t, Size k);

/// torch 2.11 TensorTopK.cu should_use_multiblock: from so many columns on many rows take the kernels with scratch,
/// which are not modelled: more than 4000 rows of 400, 800 of 800, fewer of 3000 and more.
inline constexpr Size kTopkColumns = 400;

/// t.max(dim=-1, keepdim). The values may require grad.
Picked max_last(const Tensor& t, bool keepdim = true);

/// t[ids]: t -- [M, ...], ids -- [N] or more dimensions, dense, int64; result [N, ...].
Tensor index_rows(const Tensor& t, const Tensor& ids);
/// t[:, :, ids] of a dense t: ids -- [N] int64 for the dimension dim.
Tensor index_at(const Tensor& t, const Tensor& ids, int dim);

/// t.index_select(dim, ids), ids -- [N]: the same without the index's sort in the backward pass.
Tensor index_select(const Tensor& t, const Tensor& ids, int dim = 0);

/// t[rows, columns]: t -- [B, S, ...], both indices -- [N] int64; result [N, ...].
Tensor index_pairs(const Tensor& t, const Tensor& rows, const Tensor& columns);

/// t.argmax(-1): int64.
Tensor argmax_last(const Tensor& t);

/// t.gather(dim, ids): ids -- int64, of as many dimensions; the result has their sizes.
Tensor gather(const Tensor& t, const Tensor& ids);

/// torch.scatter(t, dim, ids, number).
Tensor scatter_number(const Tensor& t, const Tensor& ids);

/// t.scatter_(dim, ids, values) of a tensor that needs no gradient before.
void scatter_in_place(const Tensor& t, const Tensor& ids, const Tensor& values);

/// t.scatter_add(0, ids, values): t -- [N] that needs no gradient.
Tensor scatter_add(const Tensor& t, const Tensor& ids, const Tensor& values);

/// t.index_copy(0, ids, values): t -- [M, ...] that needs no gradient, ids -- [N] int64, values -- [N, ...].
Tensor index_copy(const Tensor& t, const Tensor& ids, const Tensor& values);

/// t.index_copy_(0, ids, values): the same without a copy.
void index_copy_in_place(const Tensor& t, const Tensor& ids, const Tensor& values);

/// t.index_add(0, ids, values): the same sizes.
Tensor index_add(const Tensor& t, const Tensor& ids, const Tensor& values);

/// t.index_add_(0, ids, values).
void index_add_in_place(const Tensor& t, const Tensor& ids, const Tensor& values);

/// torch.histc(t, bins, min, max) of an int32 tensor.
Tensor histc(const Tensor& t, Size bins);

/// t.cumsum(-1) of flags or integers: int64.
Tensor cumsum_last(const Tensor& t);

/// torch.cumsum(t, 0, dtype=int32): t -- [N] int32, N below a tile of the scan (896).
Tensor cumsum_row(const Tensor& t);

}  // namespace vramfit::engine
