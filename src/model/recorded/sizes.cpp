// Evaluates sums of sizes.
#include "model/recorded/sizes.hpp"

#include <fmt/format.h>

#include "vramfit/base/error.hpp"

namespace vramfit::model::recorded {

namespace {

using Step = network::FormulaStep;

[[noreturn]] void refuse_formula(std::string what) {
    throw Error(ErrorKind::invalid, "a size of the recorded network", std::move(what),
                "record the network again (tools/record)");
}

/// Intermediate results may be negative, but not by far.
Size in_range(Size size) {
    if (!size.is_symbolic() && size.bits() < -(std::int64_t{1} << 61)) refuse_formula("it is below -2^61");
    return size;
}

/// Python's // and %, of numbers that are not negative.
Size divided(Size a, Size b, Step::Kind kind) {
    if (!b.is_symbolic() && b.bits() <= 0) refuse_formula("it is divided by zero or less");
    if (!a.is_symbolic() && a.bits() < 0) refuse_formula("what is divided is negative");
    return kind == Step::Kind::divide ? a / b : a % b;
}

Size combined(Size a, Size b, Step::Kind kind) {
    switch (kind) {
        case Step::Kind::add: return a + b;
        case Step::Kind::subtract: return in_range(a - b);
        case Step::Kind::multiply: return in_range(a * b);
        default: return divided(a, b, kind);
    }
}

}  // namespace

Size value_of(const network::Formula& formula, const Symbols& symbols) {
    std::vector<Size> stack;
    for (const Step& step : formula.steps) {
        switch (step.kind) {
            case Step::Kind::number: stack.emplace_back(step.number); continue;
            case Step::Kind::batch: stack.push_back(symbols.batch); continue;
            case Step::Kind::length: stack.push_back(symbols.length); continue;
            case Step::Kind::kept: stack.push_back(symbols.kept); continue;
            case Step::Kind::keys: stack.push_back(symbols.keys); continue;
            case Step::Kind::key:
                throw Error(ErrorKind::unsupported, "a size of the recorded network",
                            fmt::format("it depends on the configuration's '{}'",
                                        formula.keys[static_cast<std::size_t>(step.number)]),
                            "record the network without --vary");
            case Step::Kind::negate: stack.back() = in_range(Size(0) - stack.back()); continue;
            default: break;
        }
        const Size right = stack.back();
        stack.pop_back();
        stack.back() = combined(stack.back(), right, step.kind);
    }
    return stack.back();
}

bool holds(const network::Comparison& comparison, const Symbols& symbols) {
    const Size left = value_of(comparison.left, symbols), right = value_of(comparison.right, symbols);
    return network::holds(left, comparison.relation, right);
}

}  // namespace vramfit::model::recorded
