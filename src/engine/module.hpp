// Which module of the network a tensor belongs to, or an operator runs for.
#pragma once

#include <cstddef>
#include <cstdint>

namespace vramfit::engine {

/// How many names there may be (Allocation::module has as many bits).
inline constexpr std::size_t kModuleNames = std::size_t{1} << 12;

/// A module by its layer, -1 outside of the layers, and the number of its name (Recorder::intern).
struct Module {
    std::int16_t layer = -1;
    std::uint16_t name = 0;

    friend bool operator==(const Module&, const Module&) = default;
};

}  // namespace vramfit::engine
