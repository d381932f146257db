// The attention interface of transformers: eager, sdpa and flash_attention_2.
#pragma once

#include "model/layers/inputs.hpp"

namespace vramfit::model {

/// What an attention function returns: [B, S, H, D] contiguous, and the weights, which the decoder layer holds to its
/// end.
struct Attended {
    Tensor output;
    Tensor weights;  ///< undefined but for eager
};

/// A family's eager_attention_forward: q -- [B, H, S, D], k, v -- [B, Hk, S, D].
using EagerAttention = Attended (*)(const Run& run, const Tensor& q, const Tensor& k, const Tensor& v,
                                    const Tensor& mask);

/// A mask, and for flash_attention_2 how many tokens it has.
struct SeenMask {
    const Tensor& places;
    Size seen;
};

/// ALL_ATTENTION_FUNCTIONS[implementation](query, key, value, mask).
Attended attend(const Run& run, EagerAttention eager, const Tensor& q, const Tensor& k, const Tensor& v,
                const SeenMask& mask, const Tensor& position_ids);

/// attention_mask[:, :, :, : key_states.shape[-2]].
Tensor for_keys(const Tensor& mask, const Tensor& k);

/// repeat_kv: [B, Hk, S, D] to [B, Hk * groups, S, D].
Tensor repeat_kv(const Tensor& t, Size groups);

/// transformers integrations/sdpa_attention.py sdpa_attention_forward.
Attended sdpa_attention(const Run& run, const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& mask);
/// transformers integrations/flash_attention.py flash_attention_forward: the package flash_attn. With a mask tokens are
/// packed.
Attended flash_attention_2(const Run& run, const Tensor& q, const Tensor& k, const Tensor& v, const SeenMask& mask,
                           const Tensor& position_ids);
/// What goes into attention: [B, heads, S, D] each.
struct AttentionStates {
    Tensor query, key, value;
};
/// The same with dropout as it is given, and with values that may have narrower heads.
Tensor flash_attention_forward(const Run& run, const AttentionStates& states, const SeenMask& mask,
                               const Tensor& position_ids, double dropout);
/// _flash_attention_forward: whether the rows are packed; what stays of the question.
Tensor look_for_packed_rows(const Run& run, const Tensor& position_ids, Size rows);
/// transformers models/*/modeling_*.py eager_attention_forward.
Attended eager_attention(const Run& run, const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& mask);

}  // namespace vramfit::model
