// Micro batches that need no replay: whether they are found, and that a replay of each would say the same.
#include "alloc/recurrence.hpp"

#include <random>
#include <utility>

#include "support/catch.hpp"

using namespace vramfit;

namespace {

/// Steps of accumulated micro batches, written by hand or at random.
struct Accumulation {
    Program program;
    std::vector<std::uint32_t> live;  ///< of this micro batch
    std::uint32_t loss = 0;
    bool has_loss = false;

    Accumulation() { window(PhaseKind::start, -1, -1); }

    void window(PhaseKind kind, int step, int micro) {
        program.windows.push_back({{kind, step, micro, -1}, program.events.size()});
    }
    std::uint32_t alloc(std::int64_t bytes) {
        const auto id = static_cast<std::uint32_t>(program.allocations.size());
        program.allocations.push_back({bytes, Category::temporaries, 0, -1});
        program.events.push_back({EventKind::alloc, id});
        return id;
    }
    void free(std::uint32_t id) { program.events.push_back({EventKind::free, id}); }

    /// All that one leaves is its loss, which outlives the one before: losses take turns in two places.
    void micro(int step, int number, const std::vector<std::int64_t>& sizes) {
        window(PhaseKind::inputs, step, number);
        for (const std::int64_t bytes : sizes) live.push_back(alloc(bytes));
        window(PhaseKind::backward_loss, step, number);
        const std::uint32_t next = alloc(4);
        for (std::size_t i = 0; i < live.size(); ++i) free(live[(i + 3) % live.size()]);
        live.clear();
        if (has_loss) free(loss);
        loss = next;
        has_loss = true;
    }
};

/// The same without numbers of micro batches: every one is replayed.
Program without_micros(Program program) {
    for (Window& window : program.windows) window.phase.micro = -1;
    return program;
}

void check_equal(const Timeline& a, const Timeline& b) {
    REQUIRE(a.windows.size() == b.windows.size());
    for (std::size_t i = 0; i < a.windows.size(); ++i) {
        const WindowLevels &x = a.windows[i], &y = b.windows[i];
        CAPTURE(i);
        CHECK(x.start == y.start);
        CHECK(x.peak == y.peak);
        CHECK(x.end == y.end);
        CHECK(x.begins == y.begins);
        CHECK(x.ends == y.ends);
        CHECK(x.requested_peak_at == y.requested_peak_at);
        CHECK(x.allocated_peak_at == y.allocated_peak_at);
        CHECK(x.reserved_peak_at == y.reserved_peak_at);
        CHECK(x.retries == y.retries);
    }
    CHECK(a.peak == b.peak);
    CHECK(a.end == b.end);
    CHECK(a.retries == b.retries);
    REQUIRE(a.marks.size() == b.marks.size());
    for (std::size_t i = 0; i < a.marks.size(); ++i) CHECK(a.marks[i].now == b.marks[i].now);
    REQUIRE(a.out_of_memory.has_value() == b.out_of_memory.has_value());
    if (a.out_of_memory) CHECK(a.out_of_memory->event == b.out_of_memory->event);
}

/// How many windows of a program are not replayed.
std::size_t windows_saved(const Program& program, const ReplayOptions& options = {}) {
    allocator::Recurrence recurrence(program, options);
    CachingAllocator real(options);
    std::vector<BlockId> blocks(program.allocations.size(), kNoBlock);
    std::size_t saved = 0;
    for (std::size_t i = 0; i < program.windows.size(); ++i) {
        if (const auto found = recurrence.at(i, real, blocks, program.events.size())) {
            const std::size_t windows = found->times * found->period.windows();
            const auto apart = static_cast<std::uint32_t>(found->times) * found->period.allocations();
            for (auto id = found->period.allocation; id < found->period.allocations_end; ++id)
                blocks[id + apart] = std::exchange(blocks[id], kNoBlock);
            saved += windows;
            i += windows - 1;
            continue;
        }
        const Instant end = i + 1 < program.windows.size() ? program.windows[i + 1].first_event : program.events.size();
        for (Instant at = program.windows[i].first_event; at < end; ++at) {
            const Event event = program.events[at];
            if (event.kind == EventKind::alloc)
                blocks[event.id] = real.malloc(program.allocations[event.id].bytes).block;
            else if (event.kind == EventKind::free)
                real.free(std::exchange(blocks[event.id], kNoBlock));
            else
                real.empty_cache();
        }
    }
    return saved;
}

constexpr std::int64_t kMega = 1 << 20;

Accumulation accumulated(int micros) {
    Accumulation out;
    for (int micro = 0; micro < micros; ++micro) out.micro(0, micro, {3 * kMega, 700, 12 * kMega, 5000});
    out.window(PhaseKind::clip, 0, -1);
    return out;
}

}  // namespace

TEST_CASE("of many equal micro batches only the first few and the last are replayed") {
    const Accumulation run = accumulated(16);
    CHECK(windows_saved(run.program) >= 2 * 10);
    check_equal(replay(run.program), replay(without_micros(run.program)));
}

TEST_CASE("three micro batches are too few to save anything") { CHECK(windows_saved(accumulated(3).program) == 0); }

TEST_CASE("allocators that never look the same are replayed throughout") {
    ReplayOptions numbered;
    numbered.ties = TieRule::block_creation;
    CHECK(windows_saved(accumulated(16).program, numbered) == 0);
    ReplayOptions collects;
    collects.settings.garbage_collection_threshold = 0.8;
    CHECK(windows_saved(accumulated(16).program, collects) == 0);
}

TEST_CASE("a micro batch that asks for something else ends a repetition") {
    Accumulation run;
    for (int micro = 0; micro < 20; ++micro)
        run.micro(0, micro, {3 * kMega, micro == 11 ? 700 + 512 : 700, 12 * kMega, 5000});
    run.window(PhaseKind::clip, 0, -1);
    CHECK(windows_saved(run.program) < 2 * 16);
    check_equal(replay(run.program), replay(without_micros(run.program)));
}

TEST_CASE("random programs: skipped micro batches are what a replay of each gives") {
    std::mt19937_64 random(20261122);
    const auto below = [&](std::int64_t n) {
        return static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(n));
    };
    std::size_t saved = 0;
    for (int round = 0; round < 300; ++round) {
        Accumulation run;
        const auto micros = static_cast<int>(2 + below(14));
        const std::int64_t kinds = 1 + below(3);
        std::vector<std::vector<std::int64_t>> sizes(static_cast<std::size_t>(kinds));
        for (auto& of_kind : sizes)
            for (std::int64_t i = 3 + below(20); i > 0; --i) of_kind.push_back(1 + below(below(2) ? 4000 : 30 * kMega));
        const std::uint32_t kept = run.alloc(1 + below(40 * kMega));
        for (int step = 0; step < 2; ++step) {
            for (int micro = 0; micro < micros; ++micro) {
                if (below(40) == 0) run.program.marks.push_back({"here", run.program.events.size()});
                if (below(30) == 0) run.alloc(600);  // stays
                run.micro(step, micro, sizes[static_cast<std::size_t>(micro % kinds)]);
                if (below(60) == 0) run.program.events.push_back({EventKind::empty_cache, 0});
            }
            run.window(PhaseKind::clip, step, -1);
            run.alloc(below(2 * kMega));
        }
        run.free(kept);
        check(run.program);
        ReplayOptions options;
        options.settings.expandable_segments = below(3) == 0;
        options.ties = below(2) ? TieRule::address : TieRule::segment_creation;
        if (below(3) == 0) options.capacity = Bytes{(60 + below(400)) * kMega};
        CAPTURE(round);
        check_equal(replay(run.program, options), replay(without_micros(run.program), options));
        if (!options.capacity) saved += windows_saved(run.program, options) > 0 ? 1 : 0;
    }
    CHECK(saved > 20);
}
