// A session whose events can be read as text.
#pragma once

#include <string>
#include <vector>

#include <fmt/format.h>

#include "engine/session.hpp"
#include "vramfit/spec/stacks.hpp"

namespace recording {

using namespace vramfit;
using namespace vramfit::engine;

/// Bytes allocated (+) and freed (-), in order.
using Events = std::vector<std::int64_t>;

struct Recording {
    explicit Recording(const char* stack_name = "") : stack(stack_from(stack_name).stack), session(stack, device) {
        device.capability = {8, 0};
        device.multiprocessors = 108;
    }
    /// What happened since the last call.
    Events events() {
        Events out;
        const Program& program = session.recorder.program();
        for (; read < program.events.size(); ++read) {
            const Event& e = program.events[read];
            const std::int64_t bytes = program.allocations[e.id].bytes;
            if (e.kind == EventKind::alloc) out.push_back(bytes);
            if (e.kind == EventKind::free) out.push_back(-bytes);
        }
        return out;
    }
    Stack stack;
    Device device;
    Session session;
    std::size_t read = 0;
};

}  // namespace recording
