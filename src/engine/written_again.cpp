// A stretch of the program once more, with allocations of its own.
#include <algorithm>

#include <fmt/format.h>

#include "engine/recorder.hpp"

namespace vramfit::engine {

WrittenTo Recorder::written_to() const {
    return {program_.events.size(), program_.allocations.size(), program_.windows.size(), program_.marks.size(),
            splits_.size()};
}

bool Recorder::is_closed(const Stretch& stretch) const {
    for (std::size_t i = stretch.begin.marks; i < stretch.end.marks; ++i)
        if (!program_.marks[i].name.ends_with(".after_forward")) return false;
    const auto within = [&stretch](std::uint32_t id) {
        return id >= stretch.begin.allocations && id < stretch.end.allocations;
    };
    const std::span events(program_.events);
    const std::span splits(splits_);
    return std::all_of(events.begin() + static_cast<std::ptrdiff_t>(stretch.begin.events),
                       events.begin() + static_cast<std::ptrdiff_t>(stretch.end.events),
                       [&](const Event& e) {
                           if (e.kind == EventKind::alloc) return within(e.id);
                           return e.kind == EventKind::free && (within(e.id) || e.id == stretch.before);
                       }) &&
           std::all_of(splits.begin() + static_cast<std::ptrdiff_t>(stretch.begin.splits),
                       splits.begin() + static_cast<std::ptrdiff_t>(stretch.end.splits),
                       [&](const Split& s) { return within(s.id) && within(s.part); });
}

std::vector<std::uint32_t> Recorder::left_by(const Stretch& stretch) const {
    std::vector<bool> freed(stretch.end.allocations - stretch.begin.allocations);
    for (std::size_t i = stretch.begin.events; i < stretch.end.events; ++i) {
        const Event& e = program_.events[i];
        if (e.kind == EventKind::free && e.id >= stretch.begin.allocations)
            freed[e.id - stretch.begin.allocations] = true;
    }
    std::vector<std::uint32_t> out;
    for (std::size_t i = 0; i < freed.size(); ++i)
        if (!freed[i]) out.push_back(static_cast<std::uint32_t>(stretch.begin.allocations + i));
    return out;
}

void Recorder::copy_allocations(const Stretch& stretch, std::vector<std::uint32_t>& numbers) {
    const std::size_t first = stretch.begin.allocations;
    for (const std::uint32_t id : stretch.stay) numbers[id - first] = kNoId;
    for (std::size_t id = first; id < stretch.end.allocations; ++id) {
        std::uint32_t& number = numbers[id - first];
        if (number == kNoId) continue;
        number = static_cast<std::uint32_t>(program_.allocations.size());
        program_.allocations.push_back(Allocation(program_.allocations[id]));
        if (keeps_sizes()) sizes_.push_back(Size(sizes_[id]));
    }
    for (std::size_t i = stretch.begin.splits; i < stretch.end.splits; ++i) {
        const Split split{numbers[splits_[i].id - first], numbers[splits_[i].part - first]};
        splits_.push_back(split);
        part_of_.emplace(split.id, split.part);
    }
}

/// The level at an event of the program as it is written, before its splits have their places.
void Recorder::follow(const Event& event) {
    program_.events.push_back(event);
    if (!front_) return;
    if (event.kind == EventKind::free) return front_->shrink(sizes_[event.id]);
    front_->grow(sizes_[event.id], phase_);
    for (auto part = part_of_.find(event.id); part != part_of_.end(); part = part_of_.find(part->second))
        front_->grow(sizes_[part->second], phase_);
}

std::vector<std::uint32_t> Recorder::write_again(const Stretch& stretch, const Again& again) {
    std::vector<std::uint32_t> numbers(stretch.end.allocations - stretch.begin.allocations);
    copy_allocations(stretch, numbers);
    std::size_t window = stretch.begin.windows;
    for (std::size_t i = stretch.begin.events; i <= stretch.end.events; ++i) {
        for (; window < stretch.end.windows && program_.windows[window].first_event == i; ++window) {
            Phase phase = program_.windows[window].phase;
            phase.step = again.step;
            phase.micro = again.micro;
            if (again.ends_forward && phase.kind == PhaseKind::backward_loss)
                mark(fmt::format("step{}.after_forward", again.step + 1));
            begin(phase);
        }
        if (i == stretch.frees_before && again.before != kNoId) follow({EventKind::free, again.before, 0});
        if (i == stretch.end.events) break;
        Event event = program_.events[i];
        if (event.id == stretch.before) continue;
        event.id = numbers[event.id - stretch.begin.allocations];
        if (event.id != kNoId) follow(event);
    }
    return numbers;
}

}  // namespace vramfit::engine
