// What the alignment of a snapshot with its prediction means: windows, allocations, bytes.
#include "vramfit/snapshot/compare.hpp"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <unordered_map>
#include <unordered_set>

#include "snapshot/align.hpp"
#include "snapshot/sequence.hpp"

namespace vramfit {

namespace {

using snapshot::Alignment;
using snapshot::Hunk;
using snapshot::Token;

constexpr std::size_t kShownDifferences = 50;
constexpr std::size_t kShownSizes = 12;

PredictedAllocation predicted_allocation(const Program& program, std::uint32_t id) {
    const Allocation& a = program.allocations[id];
    return {a.bytes, a.op < program.ops.size() ? program.ops[a.op] : "", module_of(program, a), a.category};
}

using SizeCounts = std::map<std::int64_t, std::int64_t>;  ///< by bytes: seen more often (above 0) or less

class SnapshotCompare {
  public:
    SnapshotCompare(const Snapshot& snapshot, const Program& program)
        : snapshot_(snapshot),
          program_(program),
          seen_(snapshot::sequence_of(snapshot)),
          predicted_(snapshot::sequence_of(program)) {}

    SnapshotComparison run() {
        out_.entries = snapshot_.entries.size();
        count_sizes();
        alignment_ = snapshot::align(seen_, predicted_);
        out_.aligned = alignment_.found;
        out_.from_start = seen_.held.front() == 0;
        find_peaks();
        find_out_of_memory();
        if (!alignment_.found) return std::move(out_);
        out_.compared = alignment_.equal;
        name_windows();
        if (!compare_load()) compare_held();
        for (const Hunk& hunk : alignment_.hunks) add(hunk);
        return std::move(out_);
    }

  private:
    void count_sizes() {
        std::unordered_set<Token> known(predicted_.tokens.begin(), predicted_.tokens.end());
        for (const Token token : seen_.tokens) {
            if (token < 0) continue;
            ++out_.allocations;
            if (known.contains(token)) ++out_.known_sizes;
        }
    }

    /// The name of the window of a place; steps beyond the program's are counted on.
    std::string window_at(std::size_t place, bool in_tail) const {
        if (predicted_.tokens.empty()) return "";
        const std::size_t base = std::min(in_tail ? place : predicted_.base(place), predicted_.tokens.size() - 1);
        Phase phase = program_.windows[predicted_.windows[base]].phase;
        if (!in_tail && phase.step >= 0)
            phase.step += static_cast<std::int32_t>(std::min<std::int64_t>(predicted_.repetition(place), 1 << 30));
        return name_of(phase);
    }

    void name_windows() {
        out_.first_window = window_at(alignment_.place_begin, false);
        const bool tail = alignment_.in_tail && alignment_.tail_end > predicted_.step_end;
        const std::size_t last = tail ? alignment_.tail_end : alignment_.place_end;
        out_.last_window = window_at(last > 0 ? last - 1 : 0, tail);
        out_.extra_steps = alignment_.place_end > 0 ? predicted_.repetition(alignment_.place_end - 1) : 0;
    }

    /// The highest bytes of both over what was aligned, or over all of them.
    void find_peaks() {
        const std::size_t begin = alignment_.found ? alignment_.seen_begin : 0;
        const auto seen = std::max_element(seen_.held.begin() + static_cast<std::ptrdiff_t>(begin), seen_.held.end());
        out_.peak_seen = *seen;
        // Compared with the whole prediction from there on: its last steps may not have been recorded.
        const std::size_t from = alignment_.found ? predicted_.base(alignment_.place_begin) : 0;
        const std::size_t to =
            !alignment_.found || alignment_.in_tail || predicted_.repetition(alignment_.place_end) > 0
                ? predicted_.held.size()
                : std::max(alignment_.place_end, from) + 1;
        const auto first = predicted_.held.begin() + static_cast<std::ptrdiff_t>(from);
        const auto predicted = std::max_element(
            first, predicted_.held.begin() + static_cast<std::ptrdiff_t>(std::min(to, predicted_.held.size())));
        out_.peak_predicted = *predicted;
        const auto at = static_cast<std::size_t>(predicted - predicted_.held.begin());
        out_.peak_window_predicted = window_at(at > 0 ? at - 1 : 0, at > predicted_.step_end);
        if (alignment_.found)
            out_.peak_window_seen = window_of_seen(static_cast<std::size_t>(seen - seen_.held.begin()));
    }

    /// The window of a token of the snapshot.
    std::string window_of_seen(std::size_t token) const {
        if (token <= alignment_.seen_begin) return window_at(alignment_.place_begin, false);
        std::size_t seen = alignment_.seen_begin, place = alignment_.place_begin;
        const std::size_t steps_end = alignment_.place_end;
        bool tail = false;
        for (const Hunk& hunk : alignment_.hunks) {
            if (hunk.seen >= token) break;
            seen = hunk.seen_end;
            place = hunk.place_end;
            tail = hunk.in_tail;
        }
        place += token > seen ? token - seen : 0;
        if (!tail && alignment_.in_tail && place > steps_end) {
            place = predicted_.step_end + (place - steps_end);
            tail = true;
        }
        return window_at(place > 0 ? place - 1 : 0, tail);
    }

    void find_out_of_memory() {
        for (std::size_t i = 0; i < snapshot_.entries.size(); ++i) {
            const SnapshotEntry& entry = snapshot_.entries[i];
            if (entry.action != SnapshotAction::oom) continue;
            const auto token = static_cast<std::size_t>(
                std::lower_bound(seen_.entries.begin(), seen_.entries.end(), i) - seen_.entries.begin());
            out_.out_of_memory = SeenOutOfMemory{alignment_.found ? window_of_seen(token + 1) : "", entry.size,
                                                 entry.address, seen_.held[token]};
            return;
        }
    }

    /// Loading as a whole, if it was recorded: threads make its allocations in any order. False: it was not.
    bool compare_load() {
        if (alignment_.place_begin == 0) {  // in order, or the very beginning
            out_.load_compared = predicted_.load_end > 0;
            if (alignment_.seen_begin == 0 && out_.from_start) return true;
        }
        if (!out_.from_start || alignment_.place_begin > predicted_.load_end) return false;
        SizeCounts counts;
        for (std::size_t i = 0; i < alignment_.seen_begin; ++i) ++counts[seen_.tokens[i]];
        for (std::size_t i = 0; i < alignment_.place_begin; ++i) --counts[predicted_.tokens[i]];
        out_.load_compared = true;
        out_.compared += std::min(alignment_.seen_begin, alignment_.place_begin);
        const bool same = std::all_of(counts.begin(), counts.end(), [](const auto& c) { return c.second == 0; });
        if (same) {
            out_.load_reordered = alignment_.seen_begin > 0;
            return true;
        }
        add({0, alignment_.seen_begin, 0, alignment_.place_begin, false}, &counts);
        return true;
    }

    /// What both hold where the comparison begins.
    void compare_held() {
        out_.held_seen = seen_.held[alignment_.seen_begin];
        out_.held_predicted = predicted_.held[predicted_.base(alignment_.place_begin)];
        SizeCounts counts;
        for (const std::int64_t bytes : seen_.live) ++counts[bytes];
        for (std::size_t i = 0; i < alignment_.seen_begin; ++i) {
            const Token token = seen_.tokens[i];
            counts[token < 0 ? -token : token] += token < 0 ? -1 : 1;
        }
        std::map<std::int64_t, PredictedAllocation> names;
        std::unordered_map<std::uint32_t, std::int64_t> living;
        for (std::size_t i = 0; i < predicted_.base(alignment_.place_begin); ++i) {
            const Event event = program_.events[predicted_.events[i]];
            if (event.kind == EventKind::alloc)
                living[event.id] = program_.allocations[event.id].bytes;
            else
                living.erase(event.id);
        }
        std::vector<HeldSize> sizes;
        std::map<std::int64_t, std::int64_t> mine;
        std::map<std::int64_t, std::uint32_t> example;
        for (const auto& [id, bytes] : living) {
            ++mine[bytes];
            const auto [known, fresh] = example.try_emplace(bytes, id);
            if (!fresh) known->second = std::min(known->second, id);
        }
        for (const auto& [bytes, count] : mine) counts.try_emplace(bytes, 0);
        for (const auto& [bytes, count] : counts) {
            const auto predicted = mine.find(bytes);
            const std::int64_t other = predicted == mine.end() ? 0 : predicted->second;
            if (count == other) continue;
            HeldSize& size = sizes.emplace_back(HeldSize{bytes, count, other, std::nullopt});
            if (other > 0) size.what = predicted_allocation(program_, example[bytes]);
        }
        if (sizes.empty()) return;
        std::sort(sizes.begin(), sizes.end(), [](const HeldSize& a, const HeldSize& b) {
            return std::abs(a.seen - a.predicted) * a.bytes > std::abs(b.seen - b.predicted) * b.bytes;
        });
        sizes.resize(std::min(sizes.size(), kShownSizes));
        out_.held = std::move(sizes);
        SnapshotDifference difference;
        difference.kind = DifferenceKind::held_before;
        difference.window = out_.first_window;
        difference.predicted_bytes = out_.held_predicted;
        difference.seen_bytes = out_.held_seen;
        push(std::move(difference));
    }

    void push(SnapshotDifference difference) {
        ++out_.difference_count;
        if (out_.differences.size() < kShownDifferences) out_.differences.push_back(std::move(difference));
    }

    std::size_t base_of(const Hunk& hunk, std::size_t place) const {
        return hunk.in_tail ? place : predicted_.base(place);
    }

    /// One difference for each hunk with allocations; one with frees only where no earlier one explains them. `only`:
    /// the counts of the sizes that differ, where the order does not matter.
    void add(const Hunk& hunk, const SizeCounts* only = nullptr) {
        const auto counts = [only](Token token, bool seen) {
            if (!only) return true;
            const std::int64_t more = only->at(token);
            return seen ? more > 0 : more < 0;
        };
        SnapshotDifference d;
        bool frees = false;
        SizeCounts freed;  // here, more often in the snapshot (above 0) or less
        std::size_t window_place = hunk.place;
        for (std::size_t i = hunk.seen; i < hunk.seen_end; ++i) {
            const Token token = seen_.tokens[i];
            if (!counts(token, true)) continue;
            if (token < 0) {
                ++freed[-token];
                continue;
            }
            if (d.seen_count++ == 0) {
                const std::size_t entry = seen_.entries[i];
                d.seen = SeenAllocation{token, entry, snapshot_.stacks[snapshot_.entries[entry].stack]};
            }
            d.seen_bytes += token;
            ++owed_[token];
        }
        for (std::size_t place = hunk.place; place < hunk.place_end; ++place) {
            const Token token = predicted_.tokens[base_of(hunk, place)];
            if (!counts(token, false)) continue;
            if (token < 0) {
                --freed[-token];
                continue;
            }
            if (d.predicted_count++ == 0) {
                d.predicted =
                    predicted_allocation(program_, program_.events[predicted_.events[base_of(hunk, place)]].id);
                window_place = place;
            }
            d.predicted_bytes += token;
            --owed_[token];
        }
        for (const auto& [bytes, more] : freed)
            for (std::int64_t n = 0; n < std::abs(more); ++n) frees = owe(bytes, more > 0 ? 1 : -1) || frees;
        if (!d.seen && !d.predicted) {
            // After the last step the process ends and frees what it likes.
            if (!frees || hunk.in_tail) return;
            d.kind = DifferenceKind::freed_elsewhere;
        } else if (d.seen && d.predicted) {
            d.kind = DifferenceKind::size;
        } else {
            d.kind = d.seen ? DifferenceKind::only_in_snapshot : DifferenceKind::only_in_prediction;
        }
        d.window = window_at(window_place, hunk.in_tail);
        push(std::move(d));
    }

    /// A free whose allocation, or whose place, is only on one side. False: an earlier difference explains it.
    bool owe(std::int64_t bytes, std::int64_t side) {
        std::int64_t& owed = owed_[bytes];
        const bool explained = side > 0 ? owed > 0 : owed < 0;
        owed -= side;
        return !explained;
    }

    const Snapshot& snapshot_;
    const Program& program_;
    snapshot::SeenSequence seen_;
    snapshot::PredictedSequence predicted_;
    Alignment alignment_;
    SizeCounts owed_;  ///< allocations of differences so far that are not freed yet, by bytes
    SnapshotComparison out_;
};

}  // namespace

const char* name_of(DifferenceKind kind) {
    switch (kind) {
        case DifferenceKind::size: return "size";
        case DifferenceKind::only_in_snapshot: return "only_in_snapshot";
        case DifferenceKind::only_in_prediction: return "only_in_prediction";
        case DifferenceKind::freed_elsewhere: return "freed_elsewhere";
        case DifferenceKind::held_before: return "held_before";
    }
    return "unknown";
}

SnapshotComparison compare_snapshot(const Snapshot& snapshot, const Program& program) {
    return SnapshotCompare(snapshot, program).run();
}

}  // namespace vramfit
