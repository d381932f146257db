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

ProgramTemplate::ProgramTemplate(const symbolic::Symbols& symbols, Program program, const std::vector<Size>& sizes,
                                 const ParameterCounts& parameters)
    : ProgramTemplate(symbols, std::move(program), Distinct(symbols, sizes), parameters) {}

ProgramTemplate::ProgramTemplate(const symbolic::Symbols& symbols, Program program, Distinct distinct,
                                 const ParameterCounts& parameters)
    : run_(program, distinct.of),
      sizes_(symbols, distinct.all()),
      parameters_(symbols, Distinct(symbols, {parameters.trainable, parameters.total}).all()),
      conditions_(conditions_in_order(symbols)),
      checks_(symbols, polynomials_of(symbols, conditions_)) {
    program.events = std::vector<Event>();  // gives its memory back
    program.allocations = std::vector<Allocation>();
    program_ = std::move(program);
}

std::size_t ProgramTemplate::bytes() const {
    return run_.memory() + program_.windows.size() * sizeof(Window) + 50 * sizes_.size() + 4096;
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
    bytes.reserve(sizes_.size());
    for (std::size_t i = 0; i < sizes_.size(); ++i) bytes.push_back(sizes_.value(row, i));
    Program out = program_;
    symbolic::Evaluation::Row counts;
    parameters_.begin(counts, axes);
    out.trainable_parameters = parameters_.value(counts, 0);
    out.total_parameters = parameters_.value(counts, parameters_.size() - 1);  // equal counts are one
    run_.unpack(bytes, out);
    return out;
}

}  // namespace vramfit
