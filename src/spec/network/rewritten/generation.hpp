// A recording as transformers' generate calls the network: with a cache, and for the logits of the last token.
#pragma once

#include <cstdint>
#include <string_view>

#include "spec/network/document.hpp"

namespace vramfit::network {

/// Whether generation by networks of the type was compared with traces.
bool can_generate(const Document& recording);

/// Functions of generating programs, which no recording calls. Both stand where the class calls them:
/// cache_utils.py Cache.update (key, value) of the layer that runs, and masking_utils.py create_causal_mask or
/// create_sliding_window_causal_mask (attention_mask, sliding window or None).
inline constexpr std::string_view kCacheUpdate = "transformers.cache_utils.Cache.update";
inline constexpr std::string_view kCausalMask = "transformers.masking_utils.create_causal_mask";

/// The recording with variants that `generates` beside those without labels (with_logits_alone), which it has: each
/// runs the prompt, or one token with what a cache holds. They are given `position_ids` [B, S] and an `attention_mask`
/// [B, T] of all tokens so far. `Document::windows` says which layers' caches slide. Throws Error (unsupported) where
/// masks, positions or attention are made in another way than most classes do.
Document with_generation(Document document);

}  // namespace vramfit::network
