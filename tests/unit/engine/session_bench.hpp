// A session of its own for the parts of a test, on the newest stack and a card without limits.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/session.hpp"
#include "vramfit/spec/devices.hpp"
#include "vramfit/spec/stacks.hpp"

namespace vramfit::test {

struct SessionBench {
    Stack stack = stack_from("").stack;
    Device device = unlimited_device();
    engine::Session session{stack, device};

    /// Bytes of what `code` allocates, in order.
    template <class Code>
    std::vector<std::int64_t> allocated_by(const Code& code) {
        const std::vector<Allocation>& all = session.recorder.program().allocations;
        const std::size_t before = all.size();
        code();
        std::vector<std::int64_t> out;
        for (std::size_t i = before; i < all.size(); ++i) out.push_back(all[i].bytes);
        return out;
    }
};

}  // namespace vramfit::test
