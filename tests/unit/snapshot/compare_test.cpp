// Comparisons of snapshots with predictions: equal where nothing was changed, and the place of what was.
#include "vramfit/snapshot/compare.hpp"
#include "support/catch.hpp"
#include "support/llama.hpp"
#include "vramfit/predict/allocator.hpp"
#include "vramfit/predict/predict.hpp"

using namespace vramfit;

namespace {

Program run_of(std::int64_t steps) {
    Job job = test::small_llama();
    job.plan.loop.steps = steps;
    return program_of(job);
}

Snapshot recorded(const Program& program) { return snapshot_of(program, {}); }

/// The entry of the n-th allocation in the second half of the recording.
std::size_t allocation_entry(const Snapshot& snapshot, std::size_t from, std::int64_t at_least) {
    for (std::size_t i = from; i < snapshot.entries.size(); ++i)
        if (snapshot.entries[i].action == SnapshotAction::alloc && snapshot.entries[i].size >= at_least) return i;
    return 0;
}

/// As a ring buffer leaves it: only the last entries.
Snapshot cut(Snapshot snapshot, std::size_t first) {
    snapshot.entries.erase(snapshot.entries.begin(), snapshot.entries.begin() + static_cast<std::ptrdiff_t>(first));
    return snapshot;
}

/// Another size of one allocation, with its frees and its block.
Snapshot resized(Snapshot snapshot, std::size_t entry, std::int64_t size) {
    const std::int64_t address = snapshot.entries[entry].address;
    snapshot.entries[entry].size = size;
    for (std::size_t i = entry + 1; i < snapshot.entries.size(); ++i) {
        SnapshotEntry& e = snapshot.entries[i];
        if (e.address != address) continue;
        if (e.action == SnapshotAction::alloc) return snapshot;
        e.size = size;
        if (e.action == SnapshotAction::free_completed) return snapshot;
    }
    for (SnapshotSegment& segment : snapshot.segments)
        for (SnapshotBlock& block : segment.blocks)
            if (block.address == address) block.requested = size;
    return snapshot;
}

}  // namespace

TEST_CASE("a run is equal to its prediction, wherever the recording begins") {
    const Program program = run_of(3);
    const Snapshot whole = recorded(program);
    const double part = GENERATE(0.0, 0.1, 0.35, 0.5, 0.8);
    const auto first = static_cast<std::size_t>(part * static_cast<double>(whole.entries.size()));
    const SnapshotComparison c = compare_snapshot(cut(whole, first), program);
    CAPTURE(part, c.difference_count, c.first_window, c.last_window);
    CHECK(c.aligned);
    CHECK(c.equal());
    CHECK(c.from_start == (first == 0));
    CHECK(c.last_window.ends_with(".optimizer"));  // the frees after the last allocation may go on
    CHECK(c.held_seen == c.held_predicted);
    if (first == 0) CHECK(c.peak_seen == c.peak_predicted);
}

TEST_CASE("steps beyond those of the prediction are compared with its last one") {
    const Snapshot whole = recorded(run_of(6));
    const SnapshotComparison c = compare_snapshot(whole, run_of(3));
    CHECK(c.equal());
    CHECK(c.extra_steps == 3);
    const SnapshotComparison late = compare_snapshot(cut(whole, whole.entries.size() * 6 / 10), run_of(3));
    CHECK(late.equal());
}

TEST_CASE("a recording that ends early is equal as far as it goes") {
    const Program program = run_of(3);
    Snapshot snapshot = recorded(program);
    // Blocks of the end are not those of the middle: the segments are left out, as for a snapshot of entries alone.
    snapshot.entries.resize(snapshot.entries.size() / 2);
    snapshot.segments.clear();
    const SnapshotComparison c = compare_snapshot(snapshot, program);
    CHECK(c.equal());
    CHECK(c.last_window != "train_end");
}

TEST_CASE("an allocation of another size is named") {
    const Program program = run_of(3);
    const Snapshot whole = recorded(program);
    const double part = GENERATE(0.2, 0.5, 0.7, 0.95);
    const std::size_t entry =
        allocation_entry(whole, static_cast<std::size_t>(part * static_cast<double>(whole.entries.size())), 1000);
    REQUIRE(entry > 0);
    const std::int64_t bytes = whole.entries[entry].size;
    const SnapshotComparison c = compare_snapshot(resized(whole, entry, bytes + 12'345), program);
    CAPTURE(part);
    REQUIRE_FALSE(c.equal());
    const SnapshotDifference& d = c.differences.front();
    CHECK(d.kind == DifferenceKind::size);
    REQUIRE(d.seen);
    REQUIRE(d.predicted);
    CHECK(d.seen->entry == entry);
    CHECK(d.seen->bytes == bytes + 12'345);
    CHECK(d.predicted->bytes == bytes);
    CHECK(c.difference_count == 1);
    CHECK(d.window == whole.stacks[whole.entries[entry].stack].back().function);
}

TEST_CASE("an allocation that is not predicted, and one that was not made") {
    const Program program = run_of(3);
    Snapshot snapshot = recorded(program);
    const std::size_t entry = allocation_entry(snapshot, snapshot.entries.size() / 2, 1000);
    SECTION("one more") {
        SnapshotEntry more = snapshot.entries[entry];
        more.address = 1 << 30;
        more.size = 777'777;
        snapshot.entries.insert(snapshot.entries.begin() + static_cast<std::ptrdiff_t>(entry), more);
        const SnapshotComparison c = compare_snapshot(snapshot, program);
        REQUIRE(c.difference_count == 1);
        CHECK(c.differences[0].kind == DifferenceKind::only_in_snapshot);
        CHECK(c.differences[0].seen->bytes == 777'777);
        CHECK(c.differences[0].seen->entry == entry);
    }
    SECTION("one less") {
        const SnapshotEntry gone = snapshot.entries[entry];
        bool open = true;
        std::size_t at = 0;
        std::erase_if(snapshot.entries, [&](const SnapshotEntry& e) {
            const bool same = at++ >= entry && open && e.address == gone.address;
            if (same && e.action == SnapshotAction::free_completed) open = false;
            return same;
        });
        const SnapshotComparison c = compare_snapshot(snapshot, program);
        REQUIRE(c.difference_count == 1);
        CHECK(c.differences[0].kind == DifferenceKind::only_in_prediction);
        CHECK(c.differences[0].predicted->bytes == gone.size);
    }
}

TEST_CASE("what was held before the recording began is compared by size") {
    const Program program = run_of(3);
    Snapshot snapshot = cut(recorded(program), recorded(program).entries.size() / 2);
    SnapshotSegment& segment = snapshot.segments.emplace_back();
    segment.address = 1 << 30;
    segment.size = 4 * kMiB;
    segment.blocks = {{segment.address, 4 * kMiB, 3'333'333, BlockState::allocated, 0}};
    const SnapshotComparison c = compare_snapshot(snapshot, program);
    REQUIRE(c.difference_count == 1);
    CHECK(c.differences[0].kind == DifferenceKind::held_before);
    CHECK(c.held_seen - c.held_predicted == 3'333'333);
    REQUIRE(c.held.size() == 1);
    CHECK(c.held[0].bytes == 3'333'333);
}

TEST_CASE("loading in another order is equal, with another tensor it is not") {
    const Program program = run_of(3);
    Snapshot snapshot = recorded(program);
    std::vector<std::size_t> allocations;
    for (std::size_t i = 0; i < snapshot.entries.size() && allocations.size() < 12; ++i) {
        if (snapshot.entries[i].action == SnapshotAction::alloc) allocations.push_back(i);
        if (snapshot.stacks[snapshot.entries[i].stack].size() > 1 &&
            snapshot.stacks[snapshot.entries[i].stack].back().function != "load" && snapshot.entries[i].stack != 0)
            break;
    }
    REQUIRE(allocations.size() > 3);
    std::swap(snapshot.entries[allocations[1]], snapshot.entries[allocations[2]]);
    CHECK(compare_snapshot(snapshot, program).difference_count <= 1);
}

TEST_CASE("a run of another model is not found in the prediction") {
    Job other = test::small_llama();
    other.model.hidden_size *= 3;
    other.model.intermediate_size += 24;
    other.model.vocab_size += 1111;
    const SnapshotComparison c = compare_snapshot(recorded(run_of(2)), program_of(other));
    CHECK_FALSE(c.equal());
}
