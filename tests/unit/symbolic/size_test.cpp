// Sizes as symbols: exact arithmetic, comparisons that ranges settle, and those that become conditions.
#include "symbolic/size.hpp"

#include <random>

#include "support/catch.hpp"
#include "symbolic/evaluation.hpp"
#include "symbolic/symbols.hpp"
#include "vramfit/base/error.hpp"

using namespace vramfit;
using symbolic::Condition;
using symbolic::Symbols;

namespace {

/// Batch 3 of 1 to 8, length 100 of 16 to 512, rank 8 of 1 to 128.
struct Axes {
    Symbols symbols;
    symbolic::Recording recording{symbols};
    Size batch = symbols.axis(3, 1, 8);
    Size length = symbols.axis(100, 16, 512);
    Size rank = symbols.axis(8, 1, 128);

    std::size_t conditions() const { return symbols.conditions().size(); }
};

std::int64_t half(const void*, std::span<const std::int64_t> a) { return a[0] / 2 + 1; }

}  // namespace

TEST_CASE("size: plain numbers stay plain") {
    CHECK(Size(6) * 7 == 42);
    CHECK_FALSE((Size(6) * 7).is_symbolic());
    CHECK(Size(7) / 2 == 3);
    CHECK(Size(7) % 2 == 1);
    CHECK(ceil_div(Size(7), 2) == 4);
    CHECK(round_up(Size(7), 4) == 8);
    CHECK(larger(3, 5) == 5);
    CHECK(indicator_less(3, 5) == 1);
    CHECK(apply({half, "half"}, nullptr, {9}) == 5);
    CHECK_THROWS_AS(Size(std::int64_t{1} << 61) * 2, Error);
    CHECK_THROWS_AS(Size(std::int64_t{1} << 61) + (std::int64_t{1} << 61), Error);
    CHECK_THROWS_AS(Size(std::int64_t{1} << 40) * (std::int64_t{1} << 40), Error);
}

TEST_CASE("size: equal formulas are one symbol, whatever their way") {
    const Axes a;
    CHECK(same(a.batch * a.length * 2 + a.rank, a.rank + 2 * a.length * a.batch));
    CHECK(same((a.batch + 1) * (a.batch - 1), a.batch * a.batch - 1));
    CHECK(same(a.batch * a.length * 64 / (a.length * 16), a.batch * 4));
    CHECK(same(a.length * 8 % 4, 0));
    CHECK(same(a.batch * (a.length + 20) * 512 / (a.batch * (a.length + 20) * 64), 8));  // as view(-1) divides
    CHECK(same(a.rank * (a.length + 20) / (a.length + 20), a.rank));
    CHECK((a.batch * (a.length + 20) / (a.length + 21)).value() == 2);
    CHECK(same(a.batch - a.batch, 0));
    CHECK(same(a.length / 8, a.length / 8));
    CHECK((a.batch * a.length).value() == 300);
    CHECK((a.length / 8).value() == 12);
    CHECK(round_up(a.length, 32).value() == 128);
    CHECK(a.conditions() == 0);
}

TEST_CASE("size: an axis of one value is a number") {
    Symbols symbols;
    CHECK_FALSE(symbols.axis(4, 4, 4).is_symbolic());
}

TEST_CASE("size: ranges settle comparisons without a condition") {
    const Axes a;
    CHECK(a.length > 8);
    CHECK(a.length != 1);
    CHECK(a.length * a.batch >= a.batch);           // batch * (length - 1)
    CHECK(a.length * a.length * a.batch > a.rank);  // at least 256, at most 128
    CHECK_FALSE(a.batch * 2048 < a.batch * 16);
    CHECK(same(larger(a.rank, 1), a.rank));
    CHECK(same(indicator_less(a.rank, 1000), 1));
    CHECK(is_multiple(a.length * a.batch, a.length));
    CHECK_FALSE(is_multiple(a.length, a.batch));
    CHECK(a.conditions() == 0);
}

TEST_CASE("size: other comparisons become conditions, each once and without common factors") {
    const Axes a;
    CHECK_FALSE(a.batch == 1);
    CHECK(a.batch * a.length < 3072);
    CHECK(a.batch * a.length * 4 < 12288);  // the same
    CHECK(a.conditions() == 3);
    const auto& conditions = a.symbols.conditions();
    CHECK(conditions[0].kind == Condition::Kind::zero);
    CHECK_FALSE(conditions[0].holds);
    CHECK(conditions[1].kind == Condition::Kind::negative);
    CHECK(conditions[1].holds);
    CHECK(conditions[1].expression == conditions[2].expression);
    CHECK(static_cast<std::int64_t>(a.rank) == 8);
    CHECK(a.conditions() == 4);
}

TEST_CASE("size: polynomials have the values of the arithmetic they come from") {
    std::mt19937 random(5);
    const auto number = [&random](int most) { return static_cast<std::int64_t>(random()) % most; };
    const auto formula = [](Size b, Size s, Size r) {
        Size sum = b * s * 2048 + r * 16;
        sum += round_up(s, 128) * b * 8;
        sum += ceil_div(r * 2048, 256) * 4;
        sum += apply({half, "half"}, nullptr, {b * s});
        sum += larger(r * 64, s) + indicator_less(r, 48) * r * 100;
        return sum * (b + s) - s * s * b;
    };
    const Axes a;
    const symbolic::Polynomial polynomial = a.symbols.polynomial_of(formula(a.batch, a.length, a.rank));
    const symbolic::Polynomial* all[] = {&polynomial};
    const symbolic::Evaluation evaluation(a.symbols, all);
    CHECK(a.conditions() == 0);
    for (int i = 0; i < 1000; ++i) {
        const std::int64_t row[] = {1 + number(8), 16 + number(497), 1 + number(128)};
        symbolic::Evaluation::Row values;
        evaluation.begin(values, row);
        CAPTURE(row[0], row[1], row[2]);
        CHECK(evaluation.value(values, 0) == formula(row[0], row[1], row[2]).value());
    }
}

TEST_CASE("size: values beyond 62 bits are refused, not wrapped") {
    const Axes a;
    const Size big = a.length * (std::int64_t{1} << 50);
    CHECK_THROWS_AS(big * big, Error);
}
