// Different sizes are few: each is evaluated once for a row.
#include "trace/program_template.hpp"

#include <unordered_map>

#include "trace/path_conditions.hpp"
#include "vramfit/base/error.hpp"

namespace vramfit {

/// The different sizes, and for each allocation which one it is.
struct ProgramTemplate::Distinct {
    std::vector<symbolic::Polynomial> polynomials;
    std::vector<std::uint32_t> of;

    Distinct(const symbolic::Symbols& symbols, const std::vector<Size>& sizes) {
        constexpr std::uint32_t kUnknown = 0xffffffffu;
        std::vector<std::uint32_t> of_symbols(symbols.expressions().size(), kUnknown);
        std::unordered_map<std::int64_t, std::uint32_t> of_numbers;
        of.reserve(sizes.size());
        for (const Size size : sizes) {
            std::uint32_t& known = size.is_symbolic() ? of_symbols[symbols.index_of(size)]
                                                      : of_numbers.emplace(size.bits(), kUnknown).first->second;
            if (known == kUnknown) {
                known = static_cast<std::uint32_t>(polynomials.size());
                polynomials.push_back(symbols.polynomial_of(size));
            }
            of.push_back(known);
        }
    }
    std::vector<const symbolic::Polynomial*> all() const {
        std::vector<const symbolic::Polynomial*> out;
        for (const symbolic::Polynomial& p : polynomials) out.push_back(&p);
        return out;
    }
};

ProgramTemplate::ProgramTemplate(const symbolic::Symbols& symbols, Program program, const std::vector<Size>& sizes)
    : ProgramTemplate(symbols, std::move(program), Distinct(symbols, sizes)) {}

ProgramTemplate::ProgramTemplate(const symbolic::Symbols& symbols, Program program, Distinct distinct)
    : sizes_(symbols, distinct.all()),
      conditions_(conditions_in_order(symbols)),
      checks_(symbols, polynomials_of(symbols, conditions_)) {
    constexpr std::uint32_t kMost = std::uint32_t{1} << 26;
    if (program.allocations.size() >= kMost)
        throw Error(ErrorKind::unsupported, "", "a run of 67,108,864 allocations or more cannot be swept",
                    "predict it alone, or sweep fewer steps");
    allocations_.reserve(program.allocations.size());
    for (std::size_t i = 0; i < program.allocations.size(); ++i) {
        const Allocation& a = program.allocations[i];
        allocations_.push_back({distinct.of[i], a.op, a.layer, a.category, a.stream});
    }
    events_.reserve(program.events.size());
    for (const Event& e : program.events)
        events_.push_back({static_cast<std::uint32_t>(e.kind) & 7u, e.stream & 7u, e.id & (kMost - 1)});
    program.events = std::vector<Event>();  // gives its memory back
    program.allocations = std::vector<Allocation>();
    program_ = std::move(program);
}

std::size_t ProgramTemplate::bytes() const {
    return events_.size() * sizeof(Packed) + allocations_.size() * sizeof(Sized) +
           program_.windows.size() * sizeof(Window) + 50 * sizes_.size() + 4096;
}

bool ProgramTemplate::covers(std::span<const std::int64_t> axes) const {
    symbolic::Evaluation::Row row;
    checks_.begin(row, axes);
    for (std::size_t i = 0; i < conditions_.size(); ++i)
        if (!is_met(conditions_[i], checks_.value(row, i))) return false;
    return true;
}

// What has no bytes is left out: allocations, their events, and the places of windows and marks behind them.
Program ProgramTemplate::at(std::span<const std::int64_t> axes) const {
    symbolic::Evaluation::Row row;
    sizes_.begin(row, axes);
    std::vector<std::int64_t> bytes;
    bytes.reserve(sizes_.size());
    for (std::size_t i = 0; i < sizes_.size(); ++i) bytes.push_back(sizes_.value(row, i));
    Program out = program_;
    constexpr std::uint32_t kEmpty = 0xffffffffu;
    std::vector<std::uint32_t> id_of(allocations_.size(), kEmpty);
    out.allocations.reserve(allocations_.size());
    for (std::size_t i = 0; i < allocations_.size(); ++i) {
        const Sized& a = allocations_[i];
        if (bytes[a.size] == 0) continue;
        id_of[i] = static_cast<std::uint32_t>(out.allocations.size());
        out.allocations.push_back({bytes[a.size], a.category, a.op, a.layer, a.stream});
    }
    out.events.reserve(events_.size());
    auto window = out.windows.begin();
    auto mark = out.marks.begin();
    for (std::size_t i = 0; i <= events_.size(); ++i) {
        for (; window != out.windows.end() && window->first_event == i; ++window)
            window->first_event = out.events.size();
        for (; mark != out.marks.end() && mark->before_event == i; ++mark) mark->before_event = out.events.size();
        if (i == events_.size()) break;
        const Packed& packed = events_[i];
        const auto kind = static_cast<EventKind>(packed.kind);
        const bool has_id = kind != EventKind::empty_cache && kind != EventKind::stream_done;
        const std::uint32_t id = has_id ? id_of[packed.id] : packed.id;
        if (!has_id || id != kEmpty) out.events.push_back({kind, id, static_cast<std::uint8_t>(packed.stream)});
    }
    return out;
}

}  // namespace vramfit
