// What a recorded type runs in one of several processes that share each layer.
#pragma once

#include <cstdint>

#include "spec/network/document.hpp"

namespace vramfit::network {

/// The network of a built-in type with the programs of one of `pieces` processes, whose heads and widths are those of
/// its part; modules keep their names. Throws Error (invalid) where heads do not divide, (unsupported) for a network
/// that is no type's.
Document piece_of(const Document& whole, std::int64_t pieces);

}  // namespace vramfit::network
