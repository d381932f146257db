// A snapshot from the pickle that torch.cuda.memory._dump_snapshot writes, of torch 2.1 and later.
#include <algorithm>
#include <array>
#include <unordered_map>
#include <utility>

#include <fmt/format.h>

#include "snapshot/pickle_reader.hpp"
#include "vramfit/base/error.hpp"
#include "vramfit/snapshot/snapshot.hpp"

namespace vramfit {

namespace {

using snapshot::Pickle;
using snapshot::PickleKind;
using snapshot::PickleValue;

constexpr std::int64_t kLargestSnapshotSize = std::int64_t{1} << 50;

constexpr std::pair<std::string_view, SnapshotAction> kActions[] = {
    {"alloc", SnapshotAction::alloc},
    {"free_requested", SnapshotAction::free_requested},
    {"free_completed", SnapshotAction::free_completed},
    {"segment_alloc", SnapshotAction::segment_alloc},
    {"segment_free", SnapshotAction::segment_free},
    {"segment_map", SnapshotAction::segment_map},
    {"segment_unmap", SnapshotAction::segment_unmap},
    {"oom", SnapshotAction::oom},
};

constexpr std::pair<std::string_view, BlockState> kStates[] = {
    {"active_allocated", BlockState::allocated},
    {"active_pending_free", BlockState::pending_free},
    {"active_awaiting_free", BlockState::pending_free},
    {"inactive", BlockState::inactive},
};

class SnapshotReader {
  public:
    SnapshotReader(std::string_view bytes, std::string_view where)
        : where_(where), pickle_(snapshot::read_pickle(bytes, where)) {}

    Snapshot run() {
        const PickleValue traces = pickle_.at(pickle_.root, "device_traces");
        const PickleValue segments = pickle_.at(pickle_.root, "segments");
        if (traces.kind != PickleKind::list || segments.kind != PickleKind::list)
            fail("this pickle is no memory snapshot: it has no lists device_traces and segments");
        choose_device(pickle_.items(traces));
        if (!pickle_.items(traces).empty())
            for (const PickleValue& entry : pickle_.items(pickle_.items(traces)[static_cast<std::size_t>(out_.device)]))
                out_.entries.push_back(entry_of(entry));
        for (const PickleValue& segment : pickle_.items(segments)) {
            const std::optional<std::int64_t> device = pickle_.integer(pickle_.at(segment, "device"));
            if (!device || *device == out_.device) out_.segments.push_back(segment_of(segment));
        }
        const PickleValue settings = pickle_.at(pickle_.root, "allocator_settings");
        out_.alloc_conf = pickle_.text(pickle_.at(settings, "PYTORCH_CUDA_ALLOC_CONF"));
        return std::move(out_);
    }

  private:
    [[noreturn]] void fail(std::string what) const {
        throw Error(ErrorKind::invalid, std::string(where_), std::move(what),
                    "a snapshot is written by torch.cuda.memory._dump_snapshot(FILE) of torch 2.1 or later");
    }

    void choose_device(const std::vector<PickleValue>& traces) {
        out_.devices = 0;
        std::size_t most = 0;
        for (std::size_t i = 0; i < traces.size(); ++i) {
            const std::size_t entries = pickle_.items(traces[i]).size();
            if (entries > 0) ++out_.devices;
            if (entries <= most) continue;
            most = entries;
            out_.device = static_cast<std::int64_t>(i);
        }
    }

    std::int64_t number(const PickleValue& dict, std::string_view key) const {
        const std::optional<std::int64_t> value = pickle_.integer(pickle_.at(dict, key));
        if (!value) fail(fmt::format("an entry has no number {}", key));
        return *value;
    }
    std::int64_t number_or(const PickleValue& dict, std::string_view key, std::int64_t other) const {
        return pickle_.integer(pickle_.at(dict, key)).value_or(other);
    }
    std::int64_t bytes(const PickleValue& dict, std::string_view key) const {
        const std::int64_t value = number(dict, key);
        if (value < 0 || value > kLargestSnapshotSize) fail(fmt::format("{} is {}", key, value));
        return value;
    }

    std::uint32_t stack_of(const PickleValue& frames) {
        const std::vector<PickleValue>& items = pickle_.items(frames);
        if (items.empty()) return 0;
        const auto [known, fresh] = stacks_.try_emplace(frames.number, static_cast<std::uint32_t>(out_.stacks.size()));
        if (!fresh) return known->second;
        if (out_.stacks.size() == kMostStacks) {
            known->second = 0;
            return 0;
        }
        std::vector<StackFrame>& stack = out_.stacks.emplace_back();
        for (const bool all : {false, true}) {
            for (std::size_t i = 0; i < items.size() && i < kMostFrames && stack.size() < kKeptFrames; ++i)
                if (all || is_of_user(pickle_.text(pickle_.at(items[i], "filename"))))
                    stack.push_back(frame_of(items[i]));
            if (!stack.empty()) break;
        }
        return known->second;
    }

    StackFrame frame_of(const PickleValue& value) const {
        return {std::string(pickle_.text(pickle_.at(value, "filename")).substr(0, kLongestText)),
                std::string(pickle_.text(pickle_.at(value, "name")).substr(0, kLongestText)),
                number_or(value, "line", 0)};
    }
    /// Python outside of torch itself: what says where in a model or a trainer one is.
    static bool is_of_user(std::string_view file) { return file.ends_with(".py") && file.find("/torch/") == file.npos; }

    SnapshotEntry entry_of(const PickleValue& value) {
        SnapshotEntry entry;
        const std::string_view action = pickle_.text(pickle_.at(value, "action"));
        if (action.empty()) fail("an entry of device_traces has no action");
        for (const auto& [name, known] : kActions)
            if (action == name) entry.action = known;
        if (entry.action == SnapshotAction::other) return entry;
        entry.address = number(value, entry.action == SnapshotAction::oom ? "device_free" : "addr");
        entry.size = bytes(value, "size");
        entry.stream = number_or(value, "stream", 0);
        entry.stack = stack_of(pickle_.at(value, "frames"));
        return entry;
    }

    SnapshotSegment segment_of(const PickleValue& value) {
        SnapshotSegment segment;
        segment.address = number(value, "address");
        segment.size = bytes(value, "total_size");
        segment.stream = number_or(value, "stream", 0);
        segment.small = pickle_.text(pickle_.at(value, "segment_type")) == "small";
        segment.expandable = pickle_.at(value, "is_expandable").number == 1;
        std::int64_t at = segment.address;
        for (const PickleValue& item : pickle_.items(pickle_.at(value, "blocks"))) {
            SnapshotBlock block;
            block.address = number_or(item, "address", at);
            block.size = bytes(item, "size");
            block.requested =
                std::clamp<std::int64_t>(number_or(item, "requested_size", block.size), 0, kLargestSnapshotSize);
            const std::string_view state = pickle_.text(pickle_.at(item, "state"));
            const auto known = std::find_if(std::begin(kStates), std::end(kStates),
                                            [state](const auto& each) { return each.first == state; });
            if (known == std::end(kStates)) fail("a block is in no state that is known");
            block.state = known->second;
            block.stack = stack_of(pickle_.at(item, "frames"));
            at = static_cast<std::int64_t>(static_cast<std::uint64_t>(block.address) +
                                           static_cast<std::uint64_t>(block.size));
            segment.blocks.push_back(block);
        }
        return segment;
    }

    static constexpr std::size_t kMostFrames = 300, kKeptFrames = 4, kLongestText = 200;
    static constexpr std::size_t kMostStacks = std::size_t{1} << 20;

    std::string_view where_;
    Pickle pickle_;
    Snapshot out_;
    std::unordered_map<std::int64_t, std::uint32_t> stacks_;  ///< by the list of frames
};

}  // namespace

Snapshot read_snapshot(std::string_view bytes, std::string_view where) { return SnapshotReader(bytes, where).run(); }

}  // namespace vramfit
