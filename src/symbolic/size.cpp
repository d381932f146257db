// Sizes ask the table of symbols of their thread.
#include "symbolic/size.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

#include "symbolic/symbols.hpp"
#include "vramfit/base/error.hpp"

namespace vramfit::symbolic {

namespace {

thread_local Symbols* current = nullptr;

}  // namespace

Recording::Recording(Symbols& symbols) : outer_(current) { current = &symbols; }
Recording::~Recording() { current = outer_; }

Size add(Size a, Size b) { return current->add(a, b, 1); }
Size subtract(Size a, Size b) { return current->add(a, b, -1); }
Size multiply(Size a, Size b) { return current->multiply(a, b); }
Size divide(Size a, Size b) { return current->divide(a, b); }
Size remainder(Size a, Size b) { return current->remainder(a, b); }
bool less(Size a, Size b) { return current->less(a, b); }
bool equal(Size a, Size b) { return current->equal(a, b); }
std::int64_t value_of(Size size) { return current->value_of(size); }

std::int64_t settle(Size size) {
    const std::int64_t value = value_of(size);
    if (!(size == Size(value))) throw std::logic_error("a size differs from its own value");
    return value;
}

void refuse_overflow(std::int64_t a, char sign, std::int64_t b) {
    throw Error(ErrorKind::invalid, "", fmt::format("{} {} {} is too large to count", a, sign, b),
                "use smaller sizes; the result must stay below 2^62");
}

}  // namespace vramfit::symbolic

namespace vramfit {

bool always_differ(Size a, Size b) {
    if (a.is_symbolic() || b.is_symbolic()) return symbolic::current->always_differ(a, b);
    return a.bits() != b.bits();
}

bool is_multiple(Size a, Size b) {
    if (a.is_symbolic() || b.is_symbolic()) return symbolic::current->is_multiple(a, b);
    return b.bits() != 0 && a.bits() % b.bits() == 0;
}

Size larger_symbolic(Size a, Size b) { return symbolic::current->larger(a, b); }

Size indicator_less(Size a, Size b) {
    if (a.is_symbolic() || b.is_symbolic()) return symbolic::current->indicator_less(a, b);
    return a.bits() < b.bits();
}

Size indicator_differ(Size a, Size b) {
    if (same(a, b)) return 0;
    if (a.is_symbolic() || b.is_symbolic()) return symbolic::current->indicator_differ(a, b);
    return 1;
}

Size apply(SizeFunction function, const void* context, std::span<const Size> arguments) {
    if (std::any_of(arguments.begin(), arguments.end(), [](Size a) { return a.is_symbolic(); }))
        return symbolic::current->apply(function, context, arguments);
    std::int64_t values[symbolic::kMostArguments] = {};
    for (std::size_t i = 0; i < arguments.size(); ++i) values[i] = arguments[i].bits();
    return function(context, {values, arguments.size()});
}

Size apply_choice(SizeFunction function, const void* context, std::initializer_list<Size> arguments) {
    const std::span<const Size> all(arguments.begin(), arguments.size());
    if (std::any_of(all.begin(), all.end(), [](Size a) { return a.is_symbolic(); }))
        return symbolic::current->apply(function, context, all, symbolic::kChoice);
    return apply(function, context, all);
}

}  // namespace vramfit
