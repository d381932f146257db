// Timelines of small programs written by hand.
#include "vramfit/alloc/replay.hpp"

#include <random>

#include "support/catch.hpp"

using namespace vramfit;

namespace {

/// A program in the making.
struct Builder {
    Program program;

    explicit Builder() { window(PhaseKind::start); }

    void window(PhaseKind kind) { program.windows.push_back({{kind, -1, -1, -1}, program.events.size()}); }
    void mark(const char* name) { program.marks.push_back({name, program.events.size()}); }
    std::uint32_t alloc(std::int64_t bytes, EventKind kind = EventKind::alloc) {
        const auto id = static_cast<std::uint32_t>(program.allocations.size());
        program.allocations.push_back({bytes, Category::temporaries, 0, -1});
        program.events.push_back({kind, id});
        return id;
    }
    void free(std::uint32_t id, EventKind kind = EventKind::free) { program.events.push_back({kind, id}); }
    void empty_cache() { program.events.push_back({EventKind::empty_cache, 0}); }
};

Levels same(std::int64_t requested, std::int64_t blocks, std::int64_t reserved, std::int64_t managed = 0) {
    return {requested, blocks, blocks, reserved, managed};
}

}  // namespace

TEST_CASE("windows are contiguous and hold start, peak and end of every level") {
    Builder b;
    b.window(PhaseKind::load);
    const auto a = b.alloc(1000);
    const auto c = b.alloc(3 * kMiB);
    b.free(c);
    b.mark("after_load");
    b.window(PhaseKind::trainer);
    b.window(PhaseKind::optimizer);
    b.empty_cache();
    const auto paged = b.alloc(77, EventKind::managed_alloc);
    b.free(paged, EventKind::managed_free);
    b.free(a);
    b.mark("end");
    check(b.program);
    const Timeline t = replay(b.program);

    REQUIRE(t.windows.size() == 4);
    const WindowLevels& load = t.windows[1];
    CHECK(load.phase.kind == PhaseKind::load);
    CHECK(load.begins == 0);
    CHECK(load.ends == 3);
    CHECK(load.start == Levels{});
    CHECK(load.peak == same(1000 + 3 * kMiB, 1024 + 3 * kMiB, 22 * kMiB));
    CHECK(load.end == same(1000, 1024, 22 * kMiB));
    CHECK(load.requested_peak_at == 2);
    CHECK(load.allocated_peak_at == 2);
    CHECK(load.reserved_peak_at == 2);
    CHECK(t.windows[2].peak == load.end);
    CHECK(t.windows[2].requested_peak_at == 3);
    const WindowLevels& last = t.windows[3];
    CHECK(last.start == load.end);
    CHECK(last.peak == same(1000, 1024, 22 * kMiB, 77));
    CHECK(last.end == same(0, 0, 2 * kMiB));
    CHECK(last.requested_peak_at == 3);

    REQUIRE(t.marks.size() == 2);
    CHECK(t.marks[0].name == "after_load");
    CHECK(t.marks[0].now == load.end);
    CHECK(t.marks[0].highest == load.peak);
    CHECK(t.marks[1].at == b.program.events.size());
    CHECK(t.marks[1].now == last.end);
    CHECK(t.peak == same(1000 + 3 * kMiB, 1024 + 3 * kMiB, 22 * kMiB, 77));
    CHECK(t.end == last.end);
    CHECK_FALSE(t.out_of_memory);
}

TEST_CASE("the timeline stops at the request that fails") {
    Builder b;
    const auto a = b.alloc(60 * kMiB);
    b.window(PhaseKind::load);
    b.free(a);
    b.alloc(70 * kMiB);
    b.mark("before");
    b.alloc(11 * kMiB + 1);
    b.mark("after");
    b.alloc(5);
    b.window(PhaseKind::trainer);
    ReplayOptions options;
    options.capacity = Bytes{80 * kMiB};
    const Timeline t = replay(b.program, options);
    REQUIRE(t.out_of_memory);
    CHECK(t.out_of_memory->window == 1);
    CHECK(t.out_of_memory->event == 3);
    CHECK(t.out_of_memory->requested == 11 * kMiB + 1);
    CHECK(t.out_of_memory->rounded == 11 * kMiB + 512);
    CHECK(t.out_of_memory->segment == 12 * kMiB);
    REQUIRE(t.windows.size() == 2);
    CHECK(t.windows[1].ends == 3);
    CHECK(t.windows[1].retries == 2);
    CHECK(t.windows[1].end == same(70 * kMiB, 70 * kMiB, 70 * kMiB));
    REQUIRE(t.marks.size() == 1);
    CHECK(t.marks[0].name == "before");
    CHECK(t.retries == 2);
}

TEST_CASE("a request beyond counting fails without a segment") {
    Builder b;
    b.alloc(INT64_MAX);
    const Timeline t = replay(b.program);
    REQUIRE(t.out_of_memory);
    CHECK(t.out_of_memory->segment == INT64_MAX);
}

TEST_CASE("programs without events or with empty tensors") {
    CHECK(replay(Program{}).windows.empty());
    Builder b;
    const auto nothing = b.alloc(0);
    b.free(nothing);
    const Timeline t = replay(b.program);
    CHECK(t.peak == Levels{});
    CHECK(t.windows[0].requested_peak_at == 0);
}

TEST_CASE("requested levels with and without an allocator are the same") {
    std::mt19937 random(7);
    for (int round = 0; round < 50; ++round) {
        Builder b;
        std::vector<std::uint32_t> live;
        for (int step = 0; step < 300; ++step) {
            if (random() % 15 == 0) b.window(PhaseKind::forward_layer);
            if (random() % 40 == 0) b.empty_cache();
            if (live.empty() || random() % 2 == 0) {
                live.push_back(b.alloc(static_cast<std::int64_t>(random() % (5 << 20))));
            } else {
                const std::size_t at = random() % live.size();
                b.free(live[at]);
                live.erase(live.begin() + static_cast<std::ptrdiff_t>(at));
            }
        }
        check(b.program);
        const Timeline t = replay(b.program);
        const std::vector<RequestedWindow> fast = requested_peaks(b.program);
        REQUIRE(fast.size() == t.windows.size());
        for (std::size_t i = 0; i < fast.size(); ++i) {
            REQUIRE(fast[i].start == t.windows[i].start.requested);
            REQUIRE(fast[i].peak == t.windows[i].peak.requested);
            REQUIRE(fast[i].end == t.windows[i].end.requested);
            REQUIRE(fast[i].peak_at == t.windows[i].requested_peak_at);
            REQUIRE(t.windows[i].peak.allocated >= t.windows[i].peak.requested);
            if (i > 0) REQUIRE(t.windows[i].start == t.windows[i - 1].end);
        }
    }
}
