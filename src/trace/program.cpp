// The checks of a recorded program.
#include "vramfit/trace/program.hpp"

#include <fmt/format.h>

#include <stdexcept>
#include <string_view>

namespace vramfit {

namespace {

enum class Life : std::uint8_t { unborn, live, live_managed, dead };

[[noreturn]] void fail(std::size_t event, std::uint32_t id, const char* what) {
    throw std::logic_error(fmt::format("program: event {}: allocation {}: {}", event, id, what));
}

void begin(std::vector<Life>& lives, std::size_t event, std::uint32_t id, Life life) {
    if (lives[id] != Life::unborn) fail(event, id, "allocated twice");
    lives[id] = life;
}

void end(std::vector<Life>& lives, std::size_t event, std::uint32_t id, Life life) {
    if (lives[id] != life) fail(event, id, "freed without a live allocation of its kind");
    lives[id] = Life::dead;
}

void check_events(const Program& program) {
    std::vector<Life> lives(program.allocations.size(), Life::unborn);
    for (std::size_t i = 0; i < program.events.size(); ++i) {
        const Event event = program.events[i];
        if (event.kind == EventKind::empty_cache || event.kind == EventKind::stream_done ||
            event.kind == EventKind::warm_up)
            continue;
        if (event.id >= lives.size()) fail(i, event.id, "not in the list of allocations");
        switch (event.kind) {
            case EventKind::alloc: begin(lives, i, event.id, Life::live); break;
            case EventKind::managed_alloc: begin(lives, i, event.id, Life::live_managed); break;
            case EventKind::free: end(lives, i, event.id, Life::live); break;
            case EventKind::managed_free: end(lives, i, event.id, Life::live_managed); break;
            case EventKind::record_stream:
                if (lives[event.id] != Life::live) fail(i, event.id, "used on a stream without being alive");
                break;
            case EventKind::empty_cache:
            case EventKind::stream_done:
            case EventKind::warm_up: break;
        }
    }
}

void check_allocations(const Program& program) {
    for (std::size_t id = 0; id < program.allocations.size(); ++id) {
        const Allocation& allocation = program.allocations[id];
        if (allocation.bytes < 0)
            throw std::logic_error(fmt::format("program: allocation {}: {} bytes", id, allocation.bytes));
    }
}

void check_windows(const Program& program) {
    if (program.windows.empty()) {
        if (!program.events.empty()) throw std::logic_error("program: events without a window");
        return;
    }
    if (program.windows.front().first_event != 0)
        throw std::logic_error("program: the first window does not begin at event 0");
    std::size_t previous = 0;
    for (std::size_t i = 0; i < program.windows.size(); ++i) {
        const Window& window = program.windows[i];
        if (window.first_event < previous || window.first_event > program.events.size())
            throw std::logic_error(fmt::format("program: window {} ({}) begins at event {}, out of order", i,
                                               name_of(window.phase), window.first_event));
        previous = window.first_event;
    }
}

void check_marks(const Program& program) {
    std::size_t previous = 0;
    for (const Mark& mark : program.marks) {
        if (mark.before_event < previous || mark.before_event > program.events.size())
            throw std::logic_error(
                fmt::format("program: mark {} stands before event {}, out of order", mark.name, mark.before_event));
        previous = mark.before_event;
    }
}

}  // namespace

std::string module_of(const Program& program, const Allocation& allocation) {
    const bool named = allocation.module < program.modules.size();
    const std::string_view module = named ? std::string_view(program.modules[allocation.module]) : std::string_view();
    if (allocation.layer < 0) return std::string(module);
    return fmt::format("layers.{}{}{}", allocation.layer, module.empty() ? "" : ".", module);
}

void check(const Program& program) {
    check_allocations(program);
    check_events(program);
    check_windows(program);
    check_marks(program);
}

}  // namespace vramfit
