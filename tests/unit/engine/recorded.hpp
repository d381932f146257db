// Runs engine code in a session of its own and lists what it allocates and frees.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/session.hpp"
#include "vramfit/spec/stacks.hpp"

namespace vramfit::engine {

/// A session on a card, with the tensors of a test.
class Recorded {
  public:
    explicit Recorded(Capability capability = {8, 0}, int multiprocessors = 108, std::string_view stack = kDefaultStack)
        : stack_(stack_from(stack).stack), device_(card(capability, multiprocessors)), session(stack_, device_) {}

    /// Bytes allocated (positive) and freed (negative) by `code`, in order.
    template <class Code>
    std::vector<std::int64_t> events(Code&& code) {
        const std::size_t before = session.recorder.program().events.size();
        code();
        const Program& program = session.recorder.program();
        std::vector<std::int64_t> out;
        for (std::size_t i = before; i < program.events.size(); ++i) {
            const std::int64_t bytes = program.allocations[program.events[i].id].bytes;
            out.push_back(program.events[i].kind == EventKind::alloc ? bytes : -bytes);
        }
        return out;
    }

    /// A tensor that is trained.
    Tensor leaf(const Dims& sizes, DType dtype) {
        Tensor t = empty(session, sizes, dtype);
        t.set_requires_grad(true);
        return t;
    }

  private:
    static Device card(Capability capability, int multiprocessors) {
        Device d;
        d.capability = capability;
        d.multiprocessors = multiprocessors;
        return d;
    }
    Stack stack_;
    Device device_;

  public:
    Session session;
};

}  // namespace vramfit::engine
