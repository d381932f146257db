// Searching, inserting and erasing in sorted runs.
#include "free_list.hpp"

#include <algorithm>

namespace vramfit::allocator {

namespace {

__extension__ using Key = unsigned __int128;

// Size, then order, as one number; neither is negative.
Key key_of(const FreeEntry& entry) {
    return Key{static_cast<std::uint64_t>(entry.size)} << 64 | static_cast<std::uint64_t>(entry.order);
}

// Comparisons and searches have no branches on the data: which way they go cannot be foreseen.
bool before(const FreeEntry& a, const FreeEntry& b) { return key_of(a) < key_of(b); }

// The first of `count` sorted items for which `less` is false.
template <class Item, class Less>
std::uint32_t first_not(const Item* items, std::uint32_t count, Less less) {
    if (count == 0) return 0;
    const Item* base = items;
    while (count > 1) {
        const std::uint32_t half = count / 2;
        base += std::uint32_t{less(base[half - 1])} * half;
        count -= half;
    }
    return static_cast<std::uint32_t>(base - items) + std::uint32_t{less(*base)};
}

}  // namespace

FreeList::Position FreeList::next(Position at) const {
    if (at.index + 1 < runs_[order_[at.run].slot].count) return {at.run, at.index + 1};
    return {at.run + 1, 0};
}

FreeList::Position FreeList::previous(Position at) const {
    if (at.index > 0) return {at.run, at.index - 1};
    return {at.run - 1, runs_[order_[at.run - 1].slot].count - 1};
}

FreeList::Position FreeList::at_least(std::int64_t size) const {
    const std::uint32_t run = first_not(order_.data(), static_cast<std::uint32_t>(order_.size()),
                                        [size](const Head& head) { return head.last.size < size; });
    if (run == order_.size()) return end();
    const Run& found = runs_[order_[run].slot];
    return {run,
            first_not(found.entries.data(), found.count, [size](const FreeEntry& entry) { return entry.size < size; })};
}

void FreeList::insert(const FreeEntry& entry) {
    if (order_.empty()) order_.push_back({entry, new_run()});
    std::uint32_t run = first_not(order_.data(), static_cast<std::uint32_t>(order_.size()),
                                  [&](const Head& head) { return before(head.last, entry); });
    if (run == order_.size()) --run;
    if (runs_[order_[run].slot].count == kRunCapacity) {
        split(run);
        if (before(order_[run].last, entry)) ++run;
    }
    Run& target = runs_[order_[run].slot];
    const std::uint32_t index =
        first_not(target.entries.data(), target.count, [&](const FreeEntry& other) { return before(other, entry); });
    FreeEntry* const place = target.entries.data() + index;
    std::copy_backward(place, target.entries.data() + target.count, target.entries.data() + target.count + 1);
    *place = entry;
    ++target.count;
    order_[run].last = target.entries[target.count - 1];
}

void FreeList::erase(Position at) {
    Run& run = runs_[order_[at.run].slot];
    FreeEntry* const place = run.entries.data() + at.index;
    std::copy(place + 1, run.entries.data() + run.count, place);
    if (--run.count == 0)
        remove_run(at.run);
    else
        order_[at.run].last = run.entries[run.count - 1];
}

void FreeList::replace(Position at, const FreeEntry& entry) {
    Run& run = runs_[order_[at.run].slot];
    const bool behind = at.run == 0 || before(order_[at.run - 1].last, entry);
    const bool ahead = at.run + 1 == order_.size() || before(entry, runs_[order_[at.run + 1].slot].entries[0]);
    if (!behind || !ahead) {
        erase(at);
        return insert(entry);
    }
    FreeEntry* const first = run.entries.data();
    FreeEntry* const last = first + run.count;
    FreeEntry* place = first + at.index;
    for (; place != first && before(entry, place[-1]); --place) *place = place[-1];
    for (; place + 1 != last && before(place[1], entry); ++place) *place = place[1];
    *place = entry;
    order_[at.run].last = last[-1];
}

FreeList::Position FreeList::position_of(const FreeEntry& entry) const {
    const std::uint32_t run = first_not(order_.data(), static_cast<std::uint32_t>(order_.size()),
                                        [&](const Head& head) { return before(head.last, entry); });
    const Run& found = runs_[order_[run].slot];
    return {run,
            first_not(found.entries.data(), found.count, [&](const FreeEntry& other) { return before(other, entry); })};
}

std::uint32_t FreeList::new_run() {
    if (!unused_.empty()) {
        const std::uint32_t slot = unused_.back();
        unused_.pop_back();
        return slot;
    }
    runs_.emplace_back();
    return static_cast<std::uint32_t>(runs_.size() - 1);
}

// The upper half of a full run becomes the next run.
void FreeList::split(std::uint32_t run) {
    const std::uint32_t slot = new_run();
    Run& low = runs_[order_[run].slot];
    Run& high = runs_[slot];
    constexpr std::uint32_t kHalf = kRunCapacity / 2;
    std::copy(low.entries.begin() + kHalf, low.entries.end(), high.entries.begin());
    high.count = kRunCapacity - kHalf;
    low.count = kHalf;
    order_.insert(order_.begin() + run + 1, Head{order_[run].last, slot});
    order_[run].last = low.entries[kHalf - 1];
}

void FreeList::remove_run(std::uint32_t run) {
    unused_.push_back(order_[run].slot);
    order_.erase(order_.begin() + run);
}

}  // namespace vramfit::allocator
