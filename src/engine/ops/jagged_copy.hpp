// Copies between one flat tensor and many: the tables of addresses that their kernels read.
#pragma once

#include <cstdint>
#include <span>

#include "engine/tensor.hpp"

namespace vramfit::engine {

/// aten::split_with_sizes_copy of `chunks` rows into as many tensors as there are sizes. `bytes`: of each in one row.
/// What it allocates beside its outputs.
void split_copy_table(Session& session, std::span<const Size> bytes, std::int64_t chunks);

/// aten::_chunk_cat(out=): `bytes` of each tensor in one chunk, padded, in the output's dtype.
void chunk_cat_table(Session& session, std::span<const Size> bytes);

}  // namespace vramfit::engine
