// Merging of terms; interval arithmetic that saturates.
#include "symbolic/polynomial.hpp"

#include <algorithm>
#include <array>

#include "vramfit/base/checked.hpp"

namespace vramfit::symbolic {

Polynomial sum(const Polynomial& a, const Polynomial& b, std::int64_t factor) {
    Polynomial out;
    out.reserve(a.size() + b.size());
    auto i = a.begin(), j = b.begin();
    while (i != a.end() || j != b.end()) {
        if (j == b.end() || (i != a.end() && i->monomial < j->monomial)) {
            out.push_back(*i++);
        } else if (i == a.end() || j->monomial < i->monomial) {
            out.push_back({j->monomial, checked_mul(factor, j->coefficient)});
            ++j;
        } else {
            const std::int64_t c = checked_add(i->coefficient, checked_mul(factor, j->coefficient));
            if (c != 0) out.push_back({i->monomial, c});
            ++i;
            ++j;
        }
    }
    return out;
}

namespace {

__extension__ using Wide = __int128;

std::int64_t clipped(Wide x) { return static_cast<std::int64_t>(std::clamp<Wide>(x, -Range::kNone, Range::kNone)); }

}  // namespace

Range operator+(Range a, Range b) {
    Range out;
    if (a.low > -Range::kNone && b.low > -Range::kNone) out.low = clipped(Wide{a.low} + b.low);
    if (a.high < Range::kNone && b.high < Range::kNone) out.high = clipped(Wide{a.high} + b.high);
    return out;
}

Range operator*(Range a, Range b) {
    const std::array<Wide, 4> corners{Wide{a.low} * b.low, Wide{a.low} * b.high, Wide{a.high} * b.low,
                                      Wide{a.high} * b.high};
    const auto [low, high] = std::minmax_element(corners.begin(), corners.end());
    return {clipped(*low), clipped(*high)};
}

}  // namespace vramfit::symbolic
