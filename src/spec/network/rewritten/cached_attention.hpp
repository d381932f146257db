// The attention of a layer with a cache of its keys and values.
#pragma once

#include "spec/network/document.hpp"

namespace vramfit::network {

/// Whether the program calls scaled_dot_product_attention.
bool attends(const Program& program);

/// The program with the call of Cache.update in front of what sdpa_attention_forward does to keys and values; what it
/// makes of them has as many places as the cache gives. False: it has other attention, or several.
bool add_cache(Program& program);

}  // namespace vramfit::network
