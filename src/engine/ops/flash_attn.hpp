// The package flash_attn: its attention as one node of the tape.
#pragma once

#include "engine/tensor.hpp"

namespace vramfit::engine {

/// flash_attn.flash_attn_func. query -- [B, S, H, D], key and value -- [B, S, Hk, D], 16-bit; result [B, S, H, D].
/// Throws Error (unsupported) where the package refuses: other dtypes, heads wider than 256, cards before Ampere.
Tensor flash_attn_func(const Tensor& query, const Tensor& key, const Tensor& value, double dropout);

/// Where packed rows begin and end, [rows + 1] int32 each, and the tokens of the longest one.
struct PackedRows {
    Tensor query_bounds, key_bounds;
    Size longest_query, longest_key;

    Size count() const { return query_bounds.size(0) - 1; }
};

/// flash_attn.flash_attn_varlen_func of 2.6 and later. query -- [tokens, H, D], key and value -- [tokens, Hk, D].
Tensor flash_attn_varlen_func(const Tensor& query, const Tensor& key, const Tensor& value, const PackedRows& rows,
                              double dropout);

/// flash_attn.bert_padding.pad_input: what packed tokens have, put back among zeros, [rows * length, ...]. places --
/// [tokens] of whole numbers.
Tensor put_back(const Tensor& values, const Tensor& places, Size count);

}  // namespace vramfit::engine
