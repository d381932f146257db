// Which module of the network a tensor belongs to, or an operator runs for.
#pragma once

#include <cstdint>

namespace vramfit::engine {

/// A module by its layer, -1 outside of the layers, and the number of its name (Recorder::intern).
struct Module {
    std::int16_t layer = -1;
    std::uint16_t name = 0;

    friend bool operator==(const Module&, const Module&) = default;
};

}  // namespace vramfit::engine
