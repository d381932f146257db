// Appends events to the program.
#include "engine/recorder.hpp"

#include <utility>

namespace vramfit::engine {

Recorder::Recorder() {
    program_.windows.push_back({Phase{}, 0});
    program_.events.reserve(1 << 14);
    program_.allocations.reserve(1 << 13);
}

std::uint32_t Recorder::add(std::int64_t bytes, Op op, EventKind kind) {
    const auto id = static_cast<std::uint32_t>(program_.allocations.size());
    program_.allocations.push_back({bytes, fresh, static_cast<std::uint16_t>(op), layer});
    program_.events.push_back({kind, id});
    return id;
}

std::uint32_t Recorder::alloc(std::int64_t bytes, Op op) {
    return bytes == 0 ? kNoId : add(bytes, op, EventKind::alloc);
}

void Recorder::free(std::uint32_t id) {
    if (id != kNoId) program_.events.push_back({EventKind::free, id});
}

std::uint32_t Recorder::managed_alloc(std::int64_t bytes, Op op) { return add(bytes, op, EventKind::managed_alloc); }

void Recorder::managed_free(std::uint32_t id) { program_.events.push_back({EventKind::managed_free, id}); }

void Recorder::empty_cache() { program_.events.push_back({EventKind::empty_cache, 0}); }

void Recorder::begin(const Phase& phase) { program_.windows.push_back({phase, program_.events.size()}); }

void Recorder::mark(std::string name) { program_.marks.push_back({std::move(name), program_.events.size()}); }

std::int64_t Recorder::decide(Question question, std::int64_t answer) {
    Signature& s = program_.signature;
    for (const std::uint64_t word : {question.hash, static_cast<std::uint64_t>(answer)}) {
        s.hash = (s.hash ^ word) * 0x9e3779b97f4a7c15ull;
        s.hash ^= s.hash >> 29;
    }
    ++s.decisions;
    return answer;
}

void Recorder::label(std::uint32_t id, Category category) {
    if (id != kNoId) program_.allocations[id].category = category;
}

Program Recorder::take() {
    program_.ops.reserve(static_cast<std::size_t>(op_count()));
    for (int i = 0; i < op_count(); ++i) program_.ops.emplace_back(name_of(static_cast<Op>(i)));
    return std::move(program_);
}

}  // namespace vramfit::engine
