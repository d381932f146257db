// Snapshots of predicted runs: as torch's tools want them, and read back as they were written.
#include <map>
#include <set>

#include "support/catch.hpp"
#include "support/llama.hpp"
#include "vramfit/base/error.hpp"
#include "vramfit/predict/allocator.hpp"
#include "vramfit/predict/predict.hpp"
#include "vramfit/snapshot/snapshot.hpp"
#include "vramfit/spec/devices.hpp"

using namespace vramfit;

namespace {

struct Recorded {
    Program program;
    AllocatorOptions options;
};

Recorded recorded(const char* conf = "", const char* card = "") {
    Job job = test::small_llama();
    if (*card) job.device = device_from(card);
    job.device.alloc_conf = conf;
    return {program_of(job), allocator_of(job)};
}

/// Bytes that the device has given, by the entries.
std::int64_t held_by_entries(const Snapshot& snapshot) {
    std::int64_t held = 0;
    for (const SnapshotEntry& e : snapshot.entries) {
        if (e.action == SnapshotAction::segment_alloc || e.action == SnapshotAction::segment_map) held += e.size;
        if (e.action == SnapshotAction::segment_free || e.action == SnapshotAction::segment_unmap) held -= e.size;
    }
    return held;
}

}  // namespace

TEST_CASE("a snapshot has every allocation and free of the program") {
    const auto* conf = GENERATE("", "expandable_segments:True");
    const Recorded run = recorded(conf);
    const Snapshot snapshot = snapshot_of(run.program, run.options);
    std::size_t entry = 0, requested = 0, completed = 0;
    for (const Event& event : run.program.events) {
        if (event.kind != EventKind::alloc && event.kind != EventKind::free) continue;
        const std::int64_t bytes = run.program.allocations[event.id].bytes;
        if (bytes == 0) continue;
        const SnapshotAction wanted =
            event.kind == EventKind::alloc ? SnapshotAction::alloc : SnapshotAction::free_requested;
        while (entry < snapshot.entries.size() && snapshot.entries[entry].action != SnapshotAction::alloc &&
               snapshot.entries[entry].action != SnapshotAction::free_requested)
            ++entry;
        REQUIRE(entry < snapshot.entries.size());
        REQUIRE(snapshot.entries[entry].action == wanted);
        REQUIRE(snapshot.entries[entry].size == bytes);
        ++entry;
    }
    std::map<std::int64_t, std::int64_t> living;
    for (const SnapshotEntry& e : snapshot.entries) {
        CHECK((e.address >= 0 && e.address < (std::int64_t{1} << 53)));
        if (e.action == SnapshotAction::alloc) REQUIRE(living.try_emplace(e.address, e.size).second);
        if (e.action == SnapshotAction::free_requested) ++requested;
        if (e.action == SnapshotAction::free_completed) {
            ++completed;
            REQUIRE(living.erase(e.address) == 1);
        }
    }
    CHECK(requested == completed);
    std::int64_t reserved = 0;
    std::set<std::int64_t> in_use;
    for (const SnapshotSegment& segment : snapshot.segments) {
        reserved += segment.size;
        std::int64_t at = segment.address;
        for (const SnapshotBlock& block : segment.blocks) {
            CHECK(block.address == at);
            at += block.size;
            if (block.state == BlockState::allocated) in_use.insert(block.address);
        }
        CHECK(at == segment.address + segment.size);
        CHECK(segment.expandable == (*conf != '\0'));
    }
    CHECK(held_by_entries(snapshot) == reserved);
    CHECK(in_use.size() == living.size());
    for (const auto& [address, bytes] : living) CHECK(in_use.contains(address));
}

TEST_CASE("the frames of an allocation are its operator, module and window") {
    const Recorded run = recorded();
    const Snapshot snapshot = snapshot_of(run.program, run.options);
    for (const SnapshotEntry& e : snapshot.entries) {
        if (e.action != SnapshotAction::alloc) continue;
        const std::vector<StackFrame>& frames = snapshot.stacks[e.stack];
        REQUIRE_FALSE(frames.empty());
        CHECK(frames.back().file == "window");
    }
}

TEST_CASE("a request that fails is the last entry") {
    const Recorded run = recorded("", "tiny,8,0,108,1000000000,90000000");
    const Snapshot snapshot = snapshot_of(run.program, run.options);
    CHECK(snapshot.entries.back().action == SnapshotAction::oom);
    CHECK(snapshot.entries.back().size > snapshot.entries.back().address);
}

TEST_CASE("what is written is read back") {
    const Recorded run = recorded();
    const Snapshot snapshot = snapshot_of(run.program, run.options);
    const Snapshot again = read_snapshot(to_pickle(snapshot), "file");
    REQUIRE(again.entries.size() == snapshot.entries.size());
    for (std::size_t i = 0; i < again.entries.size(); ++i) {
        CHECK(again.entries[i].action == snapshot.entries[i].action);
        CHECK(again.entries[i].address == snapshot.entries[i].address);
        CHECK(again.entries[i].size == snapshot.entries[i].size);
        CHECK(again.stacks[again.entries[i].stack] == snapshot.stacks[snapshot.entries[i].stack]);
    }
    REQUIRE(again.segments.size() == snapshot.segments.size());
    for (std::size_t i = 0; i < again.segments.size(); ++i) {
        CHECK(again.segments[i].address == snapshot.segments[i].address);
        CHECK(again.segments[i].blocks.size() == snapshot.segments[i].blocks.size());
    }
}

TEST_CASE("a pickle that is no snapshot is refused") {
    using namespace std::string_view_literals;
    CHECK_THROWS_AS(read_snapshot("\x80\x04]."sv, "file"), Error);
    CHECK_THROWS_AS(read_snapshot("\x80\x04}."sv, "file"), Error);
}
