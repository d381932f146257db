// Unpacks data that is embedded compressed (LZMA2, as xz writes it).
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace vramfit {

/// The first `size` bytes that were compressed; what comes behind them is left. `packed` is the chunks of one block of
/// an xz file, without its headers. Throws std::runtime_error for data that is no such stream: what is embedded is not
/// the user's.
std::string unpacked_lzma(std::string_view packed, std::size_t size);

}  // namespace vramfit
