// A recording with what transformers runs for flash_attention_2 in place of scaled_dot_product_attention.
#pragma once

#include <string>
#include <string_view>

#include "spec/network/document.hpp"

namespace vramfit::network {

/// How rewritten programs name transformers' integrations/flash_attention.py flash_attention_forward: (query, key,
/// value, position_ids) and dropout_p.
inline constexpr std::string_view kFlashAttention = "transformers.integrations.flash_attention.flash_attention_forward";

/// The recording with variants for rows of one length ("full") under flash_attention_2, made of those for sdpa: what
/// the two functions of attention, and their masks, do differently is the same in all classes. A class whose calls are
/// not those that are looked for has no such variant.
Document with_flash_attention(Document document);

/// Why networks of a recorded type cannot be asked about with flash_attention_2; empty: they can.
std::string refusal_of_flash_attention(const Document& document);

}  // namespace vramfit::network
