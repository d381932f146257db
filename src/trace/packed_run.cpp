// Ids are told by their distance, so that what repeats is equal word by word.
#include "trace/packed_run.hpp"

#include <algorithm>
#include <functional>
#include <limits>
#include <numeric>
#include <stdexcept>

#include "vramfit/base/error.hpp"

namespace vramfit {

namespace {

constexpr std::uint32_t kMostAllocations = std::uint32_t{1} << 26;

bool begins_allocation(EventKind kind) { return kind == EventKind::alloc || kind == EventKind::managed_alloc; }

/// Whether an event is about an allocation that has begun.
bool names_allocation(EventKind kind) {
    return kind == EventKind::free || kind == EventKind::managed_free || kind == EventKind::record_stream;
}

bool same_micro_batch(const Phase& a, const Phase& b) {
    return a.step == b.step && a.micro == b.micro && a.evaluation == b.evaluation;
}

}  // namespace

/// Numbers the kinds of allocations as they come: a hash table with open addresses, asked for every allocation.
class PackedRun::Kinds {
  public:
    explicit Kinds(std::vector<Kind>& kinds) : kinds_(kinds), slots_(std::size_t{1} << 10, kNone) {}

    std::uint32_t number_of(const Kind& kind) {
        std::uint32_t& slot = slot_of(kind);
        if (slot != kNone) return slot;
        slot = static_cast<std::uint32_t>(kinds_.size());
        kinds_.push_back(kind);
        if (2 * kinds_.size() > slots_.size()) grow();
        return static_cast<std::uint32_t>(kinds_.size() - 1);
    }

  private:
    static constexpr std::uint32_t kNone = 0xffffffffu;

    std::uint32_t& slot_of(const Kind& kind) {
        std::uint64_t hash = kind.size;
        for (const std::uint64_t part :
             {std::uint64_t{kind.op}, std::uint64_t{static_cast<std::uint16_t>(kind.layer)},
              static_cast<std::uint64_t>(kind.category), std::uint64_t{kind.stream}, std::uint64_t{kind.module}})
            hash = (hash ^ part) * 0x9e3779b97f4a7c15u;
        std::size_t at = hash >> 32 & (slots_.size() - 1);
        while (slots_[at] != kNone && !(kinds_[slots_[at]] == kind)) at = (at + 1) & (slots_.size() - 1);
        return slots_[at];
    }
    void grow() {
        slots_.assign(2 * slots_.size(), kNone);
        for (std::uint32_t i = 0; i < kinds_.size(); ++i) slot_of(kinds_[i]) = i;
    }

    std::vector<Kind>& kinds_;
    std::vector<std::uint32_t> slots_;
};

PackedRun::PackedRun(const Program& program, std::span<const std::uint32_t> sizes)
    : allocations_(program.allocations.size()) {
    if (program.allocations.size() >= kMostAllocations)
        throw Error(ErrorKind::unsupported, "", "a run of 67,108,864 allocations or more cannot be swept",
                    "predict it alone, or sweep fewer steps");
    Kinds kinds(kinds_);
    std::uint32_t next = 0;
    const auto number_of = [&](const Event& e) {
        if (!begins_allocation(e.kind)) return names_allocation(e.kind) ? next - e.id : e.id;
        if (e.id != next) throw std::logic_error("allocations are not in the order of their events");
        const Allocation& a = program.allocations[next];
        return kinds.number_of({sizes[next++], a.op, a.layer, a.category, static_cast<std::uint8_t>(a.stream),
                                static_cast<std::uint16_t>(a.module)});
    };
    std::size_t event = 0;
    for (std::size_t i = 1; i <= program.windows.size(); ++i) {
        const bool last = i == program.windows.size();
        if (!last && same_micro_batch(program.windows[i].phase, program.windows[i - 1].phase)) continue;
        const std::size_t begin = words_.size();
        for (const std::size_t end = last ? program.events.size() : program.windows[i].first_event; event < end;
             ++event) {
            const Event& e = program.events[event];
            words_.push_back(
                {static_cast<std::uint32_t>(e.kind) & 7u, e.stream & 7u, number_of(e) & (kMostAllocations - 1)});
        }
        parts_.push_back({begin, words_.size()});
        share_last();
    }
    words_.shrink_to_fit();
    kinds_.shrink_to_fit();
}

/// The last part's words go if an earlier one has the same.
void PackedRun::share_last() {
    const Part last = parts_.back();
    const std::span all(words_);
    const auto words = [&](const Part& p) { return all.subspan(p.begin, p.end - p.begin); };
    const auto same = std::find_if(parts_.begin(), parts_.end() - 1, [&](const Part& p) {
        return std::equal(words(p).begin(), words(p).end(), words(last).begin(), words(last).end());
    });
    if (same == parts_.end() - 1) return;
    words_.resize(last.begin);
    parts_.back() = *same;
}

std::size_t PackedRun::memory() const {
    return words_.size() * sizeof(Word) + kinds_.size() * sizeof(Kind) + parts_.size() * sizeof(Part);
}

void PackedRun::unpack(std::span<const std::int64_t> bytes, Program& out) const {
    constexpr std::uint32_t kHasNoBytes = 0xffffffffu;
    std::vector<std::uint32_t> ids(allocations_);  // of all allocations
    std::size_t begun = 0;                         // of them
    out.allocations.reserve(allocations_);
    out.events.reserve(std::transform_reduce(parts_.begin(), parts_.end(), std::size_t{0}, std::plus<>(),
                                             [](const Part& part) { return part.end - part.begin; }));
    auto window = out.windows.begin();
    auto mark = out.marks.begin();
    std::size_t event = 0, next_place = 0;
    const auto move_places = [&] {
        next_place = std::numeric_limits<std::size_t>::max();
        for (; window != out.windows.end() && window->first_event == event; ++window)
            window->first_event = out.events.size();
        for (; mark != out.marks.end() && mark->before_event == event; ++mark) mark->before_event = out.events.size();
        if (window != out.windows.end()) next_place = window->first_event;
        if (mark != out.marks.end()) next_place = std::min<std::size_t>(next_place, mark->before_event);
    };
    const auto begin_allocation = [&](const Kind& a) {
        const std::int64_t size = bytes[a.size];
        std::uint32_t& id = ids[begun++];
        id = size == 0 ? kHasNoBytes : static_cast<std::uint32_t>(out.allocations.size());
        if (size == 0) return id;
        Allocation& made = out.allocations.emplace_back(Allocation{size, a.category, a.op, a.layer});
        made.stream = a.stream & 15u;
        made.module = a.module & 4095u;
        return id;
    };
    for (const Part& part : parts_) {
        for (std::size_t w = part.begin; w < part.end; ++w) {
            if (event == next_place) move_places();
            ++event;
            const Word word = words_[w];
            const auto kind = static_cast<EventKind>(word.event);
            const bool begins = begins_allocation(kind), named = names_allocation(kind);
            const std::uint32_t id = begins  ? begin_allocation(kinds_[word.number])
                                     : named ? ids[begun - word.number]
                                             : word.number;
            if (!(begins || named) || id != kHasNoBytes)
                out.events.push_back({kind, id, static_cast<std::uint8_t>(word.stream)});
        }
    }
    move_places();
}

}  // namespace vramfit
