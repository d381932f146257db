// Unpacks data that is embedded compressed (RFC 1951, "deflate").
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace vramfit {

/// The `size` bytes that were compressed. Throws std::runtime_error for data that is no such stream: what is embedded
/// is not the user's.
std::string inflated(std::string_view packed, std::size_t size);

}  // namespace vramfit
