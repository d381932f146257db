// The attention interface of transformers: eager and sdpa.
#pragma once

#include "model/context.hpp"

namespace vramfit::model {

/// ALL_ATTENTION_FUNCTIONS[implementation](query, key, value, mask): q -- [B, H, S, D], k, v -- [B, Hk, S, D];
/// result [B, S, H, D] contiguous.
Tensor attend(const Run& run, const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& mask);

/// repeat_kv: [B, Hk, S, D] to [B, Hk * groups, S, D].
Tensor repeat_kv(const Tensor& t, std::int64_t groups);

/// transformers integrations/sdpa_attention.py sdpa_attention_forward.
Tensor sdpa_attention(const Run& run, const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& mask);
/// transformers models/*/modeling_*.py eager_attention_forward.
Tensor eager_attention(const Run& run, const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& mask);

}  // namespace vramfit::model
