// Programs packed and unpacked: every event and allocation comes back, what repeats stands once.
#include <stdexcept>
#include <vector>

#include "support/catch.hpp"
#include "trace/packed_run.hpp"

using namespace vramfit;

namespace {

/// Two lives of an allocation in each of `micros` micro batches; a third outlives each until the next one begins.
Program accumulating(std::int32_t micros) {
    Program program;
    program.windows = {{{}, 0}};
    const auto alloc = [&](std::int64_t bytes, EventKind kind = EventKind::alloc) {
        const auto id = static_cast<std::uint32_t>(program.allocations.size());
        program.allocations.push_back({bytes, Category::temporaries, 3, static_cast<std::int16_t>(bytes % 2), 1});
        program.events.push_back({kind, id});
        return id;
    };
    std::uint32_t kept = alloc(7, EventKind::managed_alloc);
    for (std::int32_t micro = 0; micro < micros; ++micro) {
        program.windows.push_back({{PhaseKind::inputs, 0, micro, -1}, program.events.size()});
        program.events.push_back({micro == 0 ? EventKind::managed_free : EventKind::free, kept});
        const std::uint32_t first = alloc(100);
        program.events.push_back({EventKind::record_stream, first, 2});
        program.windows.push_back({{PhaseKind::head, 0, micro, -1}, program.events.size()});
        kept = alloc(5);
        program.events.push_back({EventKind::free, first});
        program.events.push_back({EventKind::empty_cache, 0});
    }
    program.windows.push_back({{PhaseKind::train_end, -1, -1, -1}, program.events.size()});
    program.events.push_back({EventKind::stream_done, static_cast<std::uint32_t>(micros), 2});
    program.marks = {{"first", 1}, {"end", program.events.size()}};
    return program;
}

std::vector<std::uint32_t> sizes_of(const Program& program) {
    std::vector<std::uint32_t> out;
    for (const Allocation& a : program.allocations) out.push_back(a.bytes == 100 ? 0 : a.bytes == 5 ? 1 : 2);
    return out;
}

Program unpacked(const PackedRun& run, const Program& of, std::vector<std::int64_t> bytes) {
    Program out;
    out.windows = of.windows;
    out.marks = of.marks;
    run.unpack(bytes, out);
    return out;
}

}  // namespace

TEST_CASE("packed runs: all of a program comes back") {
    const Program program = accumulating(5);
    const PackedRun run(program, sizes_of(program));
    const Program back = unpacked(run, program, {100, 5, 7});
    REQUIRE(back.events.size() == program.events.size());
    for (std::size_t i = 0; i < back.events.size(); ++i) {
        CAPTURE(i);
        CHECK(back.events[i].kind == program.events[i].kind);
        CHECK(back.events[i].id == program.events[i].id);
        CHECK(back.events[i].stream == program.events[i].stream);
    }
    REQUIRE(back.allocations.size() == program.allocations.size());
    for (std::size_t i = 0; i < back.allocations.size(); ++i) {
        CAPTURE(i);
        CHECK(back.allocations[i].bytes == program.allocations[i].bytes);
        CHECK(back.allocations[i].category == Category::temporaries);
        CHECK(back.allocations[i].op == 3);
        CHECK(back.allocations[i].layer == program.allocations[i].layer);
        CHECK(back.allocations[i].stream == 1);
    }
    for (std::size_t i = 0; i < back.windows.size(); ++i)
        CHECK(back.windows[i].first_event == program.windows[i].first_event);
    CHECK(back.marks[0].before_event == 1);
    CHECK(back.marks[1].before_event == program.events.size());
}

TEST_CASE("packed runs: what has no bytes is left out, and places behind it move") {
    const Program program = accumulating(2);
    const PackedRun run(program, sizes_of(program));
    const Program back = unpacked(run, program, {0, 5, 7});
    CHECK_NOTHROW(check(back));
    CHECK(back.allocations.size() == 3);
    // Of each micro batch the allocation of 100, what a second stream does with it and its end.
    CHECK(back.events.size() == program.events.size() - 6);
    CHECK(back.windows[3].first_event == program.windows[3].first_event - 3);
    CHECK(back.marks[1].before_event == back.events.size());
}

TEST_CASE("packed runs: micro batches that do the same stand once") {
    const auto memory = [](std::int32_t micros) {
        const Program program = accumulating(micros);
        return PackedRun(program, sizes_of(program)).memory();
    };
    // The second frees by another event than the first; all others are like the second.
    CHECK(memory(2) > memory(1) + 6 * 4);
    CHECK(memory(100) - memory(2) <= 98 * 2 * sizeof(std::size_t));
}

TEST_CASE("packed runs: allocations are numbered in the order of their events") {
    Program program = accumulating(1);
    std::swap(program.events[0].id, program.events[2].id);
    CHECK_THROWS_AS(PackedRun(program, sizes_of(program)), std::logic_error);
}
