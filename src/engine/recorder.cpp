// Appends events to the program.
#include "engine/recorder.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>

namespace vramfit::engine {

Recorder::Recorder(Keep keep) : keep_(keep) {
    program_.windows.push_back({Phase{}, 0});
    program_.modules.emplace_back();
    if (!keeps_program()) return;
    program_.events.reserve(1 << 14);
    program_.allocations.reserve(1 << 13);
}

Recorder::Recorder(const symbolic::Symbols& symbols, Keep keep) : Recorder(keep) {
    if (keep == Keep::formula_and_program) front_.emplace(symbols);
}

std::uint32_t Recorder::add(Size bytes, Op op, EventKind kind) {
    if (!keeps_program()) return kNoId;
    if (keeps_sizes()) sizes_.push_back(bytes);
    const auto id = static_cast<std::uint32_t>(program_.allocations.size());
    Allocation& made =
        program_.allocations.emplace_back(Allocation{bytes.value(), fresh, static_cast<std::uint16_t>(op)});
    made.take_from(stream);
    made.belong_to(module.layer, module.name);
    program_.events.push_back({kind, id, 0});
    return id;
}

std::uint32_t Recorder::alloc(Size bytes, Op op) {
    if (front_) front_->grow(bytes, phase_);
    if (same(bytes, 0)) return kNoId;
    if (op != Op::empty) launch(stream);
    if (keeps_program()) return add(bytes, op, EventKind::alloc);
    const std::int64_t count = bytes.bits();
    requested_ += count;
    if (requested_ > summary_.requested) summary_ = {requested_, phase_};
    return kNoId;
}

void Recorder::free(std::uint32_t id, Size bytes) {
    if (stopped_) return;
    if (front_) front_->shrink(bytes);
    if (keep_ == Keep::summary) requested_ -= bytes.bits();
    if (id != kNoId) end(id);
}

// DeviceCachingAllocator::free: an event on each stream that used the block (insert_events).
void Recorder::end(std::uint32_t id) {
    program_.events.push_back({EventKind::free, id, 0});
    if (uses_.empty()) return;
    const auto used = uses_.find(id);
    if (used == uses_.end()) return;
    for (std::size_t on = 0; used->second >> on; ++on) {
        if (!((used->second >> on) & 1u)) continue;
        streams_[on].waited.push_back(streams_[on].launched);
    }
    for (std::size_t on = 0; used->second >> on; ++on)
        if ((used->second >> on) & 1u) tell(static_cast<std::uint8_t>(on));
    uses_.erase(used);
}

void Recorder::record_stream(std::uint32_t id, std::uint8_t on) {
    if (id == kNoId || program_.allocations[id].stream == on) return;
    std::uint32_t& uses = uses_[id];
    if ((uses >> on) & 1u) return;
    uses |= 1u << on;
    program_.events.push_back({EventKind::record_stream, id, on});
}

void Recorder::stream_done(std::uint8_t on, std::uint32_t work) {
    streams_[on].done = work;
    tell(on);
}

void Recorder::tell(std::uint8_t on) {
    Stream& s = streams_[on];
    const std::size_t before = s.told;
    while (s.told < s.waited.size() && s.waited[s.told] <= s.done) ++s.told;
    if (s.told > before && keeps_program())
        program_.events.push_back({EventKind::stream_done, static_cast<std::uint32_t>(s.told), on});
}

void Recorder::warm_up(const WarmUp& block) {
    if (!keeps_program()) return;
    program_.events.push_back({EventKind::warm_up, static_cast<std::uint32_t>(program_.warm_ups.size()), 0});
    program_.warm_ups.push_back(block);
}

std::uint32_t Recorder::managed_alloc(Size bytes, Op op) { return add(bytes, op, EventKind::managed_alloc); }

void Recorder::managed_free(std::uint32_t id) {
    if (id != kNoId) program_.events.push_back({EventKind::managed_free, id, 0});
}

void Recorder::empty_cache() {
    if (keeps_program()) program_.events.push_back({EventKind::empty_cache, 0, 0});
}

void Recorder::begin(const Phase& phase) {
    if (holds_phase || phase == phase_) return;
    phase_ = phase;
    if (keeps_program()) program_.windows.push_back({phase, program_.events.size()});
}

void Recorder::mark(std::string name) {
    if (keeps_program()) program_.marks.push_back({std::move(name), program_.events.size()});
}

namespace {

void mix(Signature& s, Question question, std::int64_t answer) {
    for (const std::uint64_t word : {question.hash, static_cast<std::uint64_t>(answer)}) {
        s.hash = (s.hash ^ word) * 0x9e3779b97f4a7c15ull;
        s.hash ^= s.hash >> 29;
    }
    ++s.decisions;
}

}  // namespace

std::int64_t Recorder::decide(Question question, Size size) {
    const auto answer = static_cast<std::int64_t>(size);
    mix(program_.signature, question, answer);
    return answer;
}

std::uint16_t Recorder::intern(std::string_view name) {
    std::vector<std::string>& names = program_.modules;
    const auto found = std::find(names.begin(), names.end(), name);
    if (found == names.end() && names.size() >> kModuleBits) return 0;
    const auto number = static_cast<std::uint16_t>(found - names.begin());
    if (found == names.end()) names.emplace_back(name);
    return number;
}

void Recorder::label(std::uint32_t id, Category category) {
    if (id != kNoId) program_.allocations[id].category = category;
}

void Recorder::place(std::uint32_t id, Module of) {
    if (id == kNoId) return;
    program_.allocations[id].belong_to(of.layer, of.name);
}

Module Recorder::place_of(std::uint32_t id) const {
    if (id == kNoId) return {};
    return {program_.allocations[id].layer, program_.allocations[id].module};
}

std::uint32_t Recorder::split(std::uint32_t id, Size rest, Size part) {
    if (!keeps_sizes()) return kNoId;
    if (uses_.contains(id)) throw std::logic_error("an allocation that other streams use is divided");
    const auto twin = static_cast<std::uint32_t>(program_.allocations.size());
    Allocation allocation = program_.allocations[id];
    program_.allocations[id].bytes = rest.value();
    allocation.bytes = part.value();
    program_.allocations.push_back(allocation);
    sizes_[id] = rest;
    sizes_.push_back(part);
    splits_.push_back({id, twin});
    part_of_.emplace(id, twin);
    return twin;
}

// Allocations are numbered in the order of their events.
void Recorder::place_splits() {
    if (splits_.empty()) return;
    std::vector<std::uint32_t> part_of(program_.allocations.size(), kNoId);
    for (const Split& s : splits_) part_of[s.id] = s.part;
    std::vector<std::uint32_t> order;  // old numbers by new ones
    std::vector<std::uint32_t> number(program_.allocations.size());
    std::vector<std::size_t> place{0};  // of the events and behind them
    std::vector<Event> events;
    for (Event event : program_.events) {
        const bool has_id = event.kind != EventKind::empty_cache && event.kind != EventKind::stream_done &&
                            event.kind != EventKind::warm_up;
        const bool begins = event.kind == EventKind::alloc || event.kind == EventKind::managed_alloc;
        for (std::uint32_t id = event.id; begins && id != kNoId; id = part_of[id]) {
            number[id] = static_cast<std::uint32_t>(order.size());
            order.push_back(id);
            events.push_back({event.kind, number[id], event.stream});
        }
        if (has_id) event.id = number[event.id];
        if (!begins) events.push_back(event);
        place.push_back(events.size());
    }
    for (Window& w : program_.windows) w.first_event = place[w.first_event];
    for (Mark& m : program_.marks) m.before_event = place[m.before_event];
    std::vector<Allocation> allocations;
    std::vector<Size> sizes;
    for (const std::uint32_t id : order) {
        allocations.push_back(program_.allocations[id]);
        sizes.push_back(sizes_[id]);
    }
    program_.events = std::move(events);
    program_.allocations = std::move(allocations);
    sizes_ = std::move(sizes);
    splits_.clear();
}

Program Recorder::take() {
    place_splits();
    program_.ops.reserve(static_cast<std::size_t>(op_count()));
    for (int i = 0; i < op_count(); ++i) program_.ops.emplace_back(engine::name_of(static_cast<Op>(i)));
    return std::move(program_);
}

}  // namespace vramfit::engine
