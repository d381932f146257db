// Different sizes are few: each is evaluated once for a row.
#include "trace/program_template.hpp"

#include <unordered_map>

#include "trace/path_conditions.hpp"

namespace vramfit {

/// The different sizes, and for each allocation which one it is.
struct ProgramTemplate::Distinct {
    std::vector<symbolic::Polynomial> polynomials;
    std::vector<std::uint32_t> of;

    Distinct(const symbolic::Symbols& symbols, const std::vector<Size>& sizes) {
        std::unordered_map<std::int64_t, std::uint32_t> known;
        for (const Size size : sizes) {
            const auto [at, fresh] = known.emplace(size.bits(), static_cast<std::uint32_t>(polynomials.size()));
            if (fresh) polynomials.push_back(symbols.polynomial_of(size));
            of.push_back(at->second);
        }
    }
    std::vector<const symbolic::Polynomial*> all() const {
        std::vector<const symbolic::Polynomial*> out;
        for (const symbolic::Polynomial& p : polynomials) out.push_back(&p);
        return out;
    }
};

namespace {

/// Takes out what has no bytes: events, allocations, and the places of windows and marks behind them.
void drop_empty(Program& program) {
    std::vector<std::uint32_t> id_of(program.allocations.size());
    std::vector<Allocation> kept;
    for (std::size_t i = 0; i < program.allocations.size(); ++i) {
        id_of[i] = static_cast<std::uint32_t>(kept.size());
        if (program.allocations[i].bytes > 0) kept.push_back(program.allocations[i]);
    }
    if (kept.size() == program.allocations.size()) return;
    std::vector<std::size_t> place_of(program.events.size() + 1);
    std::vector<Event> events;
    for (std::size_t i = 0; i < program.events.size(); ++i) {
        place_of[i] = events.size();
        Event event = program.events[i];
        if (event.kind != EventKind::empty_cache && event.kind != EventKind::stream_done) {
            if (program.allocations[event.id].bytes == 0) continue;
            event.id = id_of[event.id];
        }
        events.push_back(event);
    }
    place_of.back() = events.size();
    for (Window& w : program.windows) w.first_event = place_of[w.first_event];
    for (Mark& m : program.marks) m.before_event = place_of[m.before_event];
    program.events = std::move(events);
    program.allocations = std::move(kept);
}

}  // namespace

ProgramTemplate::ProgramTemplate(const symbolic::Symbols& symbols, Program program, const std::vector<Size>& sizes)
    : ProgramTemplate(symbols, std::move(program), Distinct(symbols, sizes)) {}

ProgramTemplate::ProgramTemplate(const symbolic::Symbols& symbols, Program program, Distinct distinct)
    : program_(std::move(program)),
      size_of_(std::move(distinct.of)),
      sizes_(symbols, distinct.all()),
      conditions_(conditions_in_order(symbols)),
      checks_(symbols, polynomials_of(symbols, conditions_)) {
    program_.allocations.shrink_to_fit();
    program_.events.shrink_to_fit();
}

bool ProgramTemplate::covers(std::span<const std::int64_t> axes) const {
    symbolic::Evaluation::Row row;
    checks_.begin(row, axes);
    for (std::size_t i = 0; i < conditions_.size(); ++i)
        if (!is_met(conditions_[i], checks_.value(row, i))) return false;
    return true;
}

Program ProgramTemplate::at(std::span<const std::int64_t> axes) const {
    symbolic::Evaluation::Row row;
    sizes_.begin(row, axes);
    std::vector<std::int64_t> bytes;
    for (std::size_t i = 0; i < sizes_.size(); ++i) bytes.push_back(sizes_.value(row, i));
    Program out = program_;
    for (std::size_t i = 0; i < out.allocations.size(); ++i) out.allocations[i].bytes = bytes[size_of_[i]];
    drop_empty(out);
    return out;
}

}  // namespace vramfit
