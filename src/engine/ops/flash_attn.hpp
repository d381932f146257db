// The package flash_attn: its attention as one node of the tape.
#pragma once

#include "engine/tensor.hpp"

namespace vramfit::engine {

/// flash_attn.flash_attn_func. query -- [B, S, H, D], key and value -- [B, S, Hk, D], 16-bit; result [B, S, H, D].
/// Throws Error (unsupported) where the package refuses: other dtypes, heads wider than 256, cards before Ampere.
Tensor flash_attn_func(const Tensor& query, const Tensor& key, const Tensor& value, double dropout);

}  // namespace vramfit::engine
