// PyTorch's memory snapshot (torch.cuda.memory._dump_snapshot): what the allocator did, and what it holds.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "vramfit/alloc/caching_allocator.hpp"
#include "vramfit/trace/program.hpp"

namespace vramfit {

/// "action" of an entry (torch/csrc/cuda/memory_snapshot.cpp).
enum class SnapshotAction : std::uint8_t {
    alloc,
    free_requested,
    free_completed,
    segment_alloc,
    segment_free,
    segment_map,
    segment_unmap,
    oom,
    other,  ///< "snapshot" and what later versions add
};

struct StackFrame {
    std::string file;
    std::string function;
    std::int64_t line = 0;

    friend bool operator==(const StackFrame&, const StackFrame&) = default;
};

/// One thing that the allocator did. `stack` is an index into Snapshot::stacks.
struct SnapshotEntry {
    SnapshotAction action = SnapshotAction::other;
    std::int64_t address = 0;  ///< of an oom: what the device had left
    std::int64_t size = 0;
    std::int64_t stream = 0;
    std::uint32_t stack = 0;
    Category category = Category::unattributed;  ///< of predicted allocations

    friend bool operator==(const SnapshotEntry&, const SnapshotEntry&) = default;
};

/// A block that was in use, or not, when the snapshot was taken.
struct SnapshotBlock {
    std::int64_t address = 0;
    std::int64_t size = 0;
    std::int64_t requested = 0;
    BlockState state = BlockState::inactive;
    std::uint32_t stack = 0;

    friend bool operator==(const SnapshotBlock&, const SnapshotBlock&) = default;
};

struct SnapshotSegment {
    std::int64_t address = 0;
    std::int64_t size = 0;
    std::int64_t stream = 0;
    bool small = false;
    bool expandable = false;
    std::vector<SnapshotBlock> blocks;

    friend bool operator==(const SnapshotSegment&, const SnapshotSegment&) = default;
};

/// Of one device.
struct Snapshot {
    std::vector<SnapshotEntry> entries;
    std::vector<SnapshotSegment> segments;
    std::vector<std::vector<StackFrame>> stacks = {{}};  ///< innermost frame first; the first stack is empty
    std::string alloc_conf;                              ///< PYTORCH_CUDA_ALLOC_CONF
    std::int64_t device = 0;
    std::int64_t devices = 1;  ///< that have entries
};

/// What torch would dump at the end of the run; the frames of an allocation are its operator, module and window.
Snapshot snapshot_of(const Program& program, const AllocatorOptions& options);

/// The file that torch's tools read (pickle, protocol 4).
std::string to_pickle(const Snapshot& snapshot);

/// Reads such a file. Of several devices the one with most entries is taken. Nothing in the file is run. Throws Error
/// (invalid) with `where` as its place.
Snapshot read_snapshot(std::string_view bytes, std::string_view where);

}  // namespace vramfit
