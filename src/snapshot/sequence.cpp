// Both sequences, each in one walk.
#include "snapshot/sequence.hpp"

#include <algorithm>
#include <tuple>
#include <unordered_map>
#include <utility>

namespace vramfit::snapshot {

namespace {

/// Frees without an allocation between them come in any order (the tracer's comparison has them as one group too): by
/// size. `sources` go with their tokens.
void order_frees(std::vector<Token>& tokens, std::vector<std::size_t>& sources) {
    for (std::size_t begin = 0; begin < tokens.size();) {
        std::size_t end = begin;
        while (end < tokens.size() && tokens[end] < 0) ++end;
        std::vector<std::pair<Token, std::size_t>> run;
        for (std::size_t i = begin; i < end; ++i) run.emplace_back(tokens[i], sources[i]);
        std::sort(run.begin(), run.end());
        for (std::size_t i = begin; i < end; ++i) std::tie(tokens[i], sources[i]) = run[i - begin];
        begin = end + 1;
    }
}

}  // namespace

SeenSequence sequence_of(const Snapshot& snapshot) {
    SeenSequence out;
    std::unordered_map<std::int64_t, std::int64_t> living;  // by address: bytes
    for (std::size_t i = 0; i < snapshot.entries.size(); ++i) {
        const SnapshotEntry& entry = snapshot.entries[i];
        const bool begins = entry.action == SnapshotAction::alloc;
        if (entry.size == 0 || (!begins && entry.action != SnapshotAction::free_requested)) continue;
        if (!begins && out.tokens.empty()) continue;  // the rest of a group of frees that began earlier
        out.tokens.push_back(begins ? entry.size : -entry.size);
        out.entries.push_back(i);
        if (begins)
            living[entry.address] = entry.size;
        else if (living.erase(entry.address) == 0)
            out.live.push_back(entry.size);  // from before the recording
    }
    for (const SnapshotSegment& segment : snapshot.segments)
        for (const SnapshotBlock& block : segment.blocks)
            if (block.state == BlockState::allocated && block.requested > 0 && !living.contains(block.address))
                out.live.push_back(block.requested);
    while (!out.tokens.empty() && out.tokens.back() < 0) {  // the beginning of one that goes on
        out.tokens.pop_back();
        out.entries.pop_back();
    }
    order_frees(out.tokens, out.entries);
    std::int64_t held = 0;
    for (const std::int64_t bytes : out.live) held += bytes;
    out.held.push_back(held);
    for (const Token token : out.tokens) out.held.push_back(held += token);
    return out;
}

PredictedSequence sequence_of(const Program& program) {
    PredictedSequence out;
    std::int32_t last_step = -1;
    for (const Window& window : program.windows) last_step = std::max(last_step, window.phase.step);
    std::size_t window = 0;
    bool in_step = false, closed = false;
    for (std::size_t i = 0; i < program.events.size(); ++i) {
        while (window + 1 < program.windows.size() && program.windows[window + 1].first_event <= i) ++window;
        const Event event = program.events[i];
        if (event.kind != EventKind::alloc && event.kind != EventKind::free) continue;
        const std::int64_t bytes = program.allocations[event.id].bytes;
        if (bytes == 0) continue;
        const Phase& phase = program.windows[window].phase;
        if (phase.kind == PhaseKind::start || phase.kind == PhaseKind::load) out.load_end = out.tokens.size() + 1;
        if (!in_step && last_step >= 0 && phase.step == last_step) {
            in_step = true;
            out.step_begin = out.tokens.size();
        }
        if (in_step && !closed && phase.step != last_step) {
            closed = true;
            out.step_end = out.tokens.size();
        }
        out.tokens.push_back(event.kind == EventKind::alloc ? bytes : -bytes);
        out.events.push_back(i);
        out.windows.push_back(window);
    }
    order_frees(out.tokens, out.events);
    out.held.push_back(0);
    for (const Token token : out.tokens) out.held.push_back(out.held.back() + token);
    if (in_step && !closed) out.step_end = out.tokens.size();
    if (!in_step) out.step_begin = out.step_end = out.tokens.size();
    return out;
}

}  // namespace vramfit::snapshot
