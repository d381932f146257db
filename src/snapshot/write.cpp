// A snapshot as the pickle that torch's tools read: torch/cuda/_memory_viz.py and torch/utils/viz/MemoryViz.js (2.11).
#include "snapshot/pickle_writer.hpp"
#include "vramfit/snapshot/snapshot.hpp"

namespace vramfit {

namespace {

constexpr std::size_t kBatch = 1000;

const char* name_of(SnapshotAction action) {
    switch (action) {
        case SnapshotAction::alloc: return "alloc";
        case SnapshotAction::free_requested: return "free_requested";
        case SnapshotAction::free_completed: return "free_completed";
        case SnapshotAction::segment_alloc: return "segment_alloc";
        case SnapshotAction::segment_free: return "segment_free";
        case SnapshotAction::segment_map: return "segment_map";
        case SnapshotAction::segment_unmap: return "segment_unmap";
        case SnapshotAction::oom: return "oom";
        case SnapshotAction::other: return "snapshot";
    }
    return "snapshot";
}

/// MemoryViz.js (2.11) breaks off where entries have categories but none is "unknown".
const char* shown_category(Category category) {
    return category == Category::unattributed ? "unknown" : vramfit::name_of(category);
}

const char* shown_state(BlockState state) {
    switch (state) {
        case BlockState::allocated: return "active_allocated";
        case BlockState::pending_free: return "active_pending_free";
        case BlockState::inactive:
        case BlockState::unmapped: return "inactive";
    }
    return "inactive";
}

class SnapshotWriter {
  public:
    explicit SnapshotWriter(const Snapshot& snapshot) : snapshot_(snapshot), kept_(snapshot.stacks.size(), kNever) {}

    std::string run() {
        out_.begin_dict();
        out_.string("segments");
        out_.begin_list();
        for (std::size_t i = 0; i < snapshot_.segments.size(); ++i) {
            if (i > 0 && i % kBatch == 0) out_.next_batch();
            segment(snapshot_.segments[i]);
        }
        out_.end_list();
        out_.string("device_traces");
        out_.begin_list();
        out_.begin_list();
        for (std::size_t i = 0; i < snapshot_.entries.size(); ++i) {
            if (i > 0 && i % kBatch == 0) out_.next_batch();
            entry(snapshot_.entries[i], static_cast<std::int64_t>(i));
        }
        out_.end_list();
        out_.end_list();
        out_.string("allocator_settings");
        out_.begin_dict();
        text("PYTORCH_CUDA_ALLOC_CONF", snapshot_.alloc_conf);
        out_.end_dict();
        out_.string("external_annotations");
        out_.begin_list();
        out_.end_list();
        out_.end_dict();
        return std::move(out_).finish();
    }

  private:
    static constexpr std::uint32_t kNever = 0xffffffffu;

    void text(std::string_view key, std::string_view value) {
        out_.string(key);
        out_.string(value);
    }
    void number(std::string_view key, std::int64_t value) {
        out_.string(key);
        out_.integer(value);
    }

    void frames(std::uint32_t stack) {
        out_.string("frames");
        if (kept_[stack] != kNever) return out_.repeat(kept_[stack]);
        out_.begin_list();
        for (const StackFrame& frame : snapshot_.stacks[stack]) {
            out_.begin_dict();
            text("name", frame.function);
            text("filename", frame.file);
            number("line", frame.line);
            out_.end_dict();
        }
        out_.end_list();
        kept_[stack] = out_.keep();
    }

    void segment(const SnapshotSegment& segment) {
        std::int64_t allocated = 0, active = 0, requested = 0;
        for (const SnapshotBlock& block : segment.blocks) {
            if (block.state == BlockState::allocated) allocated += block.size;
            if (block.state == BlockState::allocated || block.state == BlockState::pending_free) {
                active += block.size;
                requested += block.requested;
            }
        }
        out_.begin_dict();
        number("device", 0);
        number("address", segment.address);
        number("total_size", segment.size);
        number("allocated_size", allocated);
        number("active_size", active);
        number("requested_size", requested);
        number("stream", segment.stream);
        text("segment_type", segment.small ? "small" : "large");
        out_.string("segment_pool_id");
        out_.pair(0, 0);
        out_.string("is_expandable");
        out_.boolean(segment.expandable);
        frames(0);
        out_.string("blocks");
        out_.begin_list();
        for (std::size_t i = 0; i < segment.blocks.size(); ++i) {
            if (i > 0 && i % kBatch == 0) out_.next_batch();
            block(segment.blocks[i]);
        }
        out_.end_list();
        out_.end_dict();
    }

    void block(const SnapshotBlock& block) {
        out_.begin_dict();
        number("address", block.address);
        number("size", block.size);
        number("requested_size", block.requested);
        text("state", shown_state(block.state));
        frames(block.stack);
        out_.end_dict();
    }

    void entry(const SnapshotEntry& entry, std::int64_t time) {
        out_.begin_dict();
        text("action", name_of(entry.action));
        number(entry.action == SnapshotAction::oom ? "device_free" : "addr", entry.address);
        number("size", entry.size);
        number("stream", entry.stream);
        number("time_us", time);  // the order of events; how long they take is not predicted
        frames(entry.stack);
        if (entry.action != SnapshotAction::free_requested && entry.action != SnapshotAction::free_completed)
            text("category", shown_category(entry.category));
        out_.end_dict();
    }

    const Snapshot& snapshot_;
    snapshot::PickleWriter out_;
    std::vector<std::uint32_t> kept_;  ///< by stack
};

}  // namespace

std::string to_pickle(const Snapshot& snapshot) { return SnapshotWriter(snapshot).run(); }

}  // namespace vramfit
