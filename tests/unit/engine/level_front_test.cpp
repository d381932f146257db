// Which instants a formula keeps: those that may be the highest for some row.
#include "engine/level_front.hpp"

#include "support/catch.hpp"

using namespace vramfit;
using namespace vramfit::engine;

namespace {

struct Run {
    symbolic::Symbols symbols;
    symbolic::Recording recording{symbols};
    Size batch = symbols.axis(2, 1, 8);
    Size rank = symbols.axis(4, 1, 64);
    LevelFront front{symbols};

    void spike(Size bytes, const Phase& at) {
        front.grow(bytes, at);
        front.shrink(bytes);
    }
    static Formula::Row row(const Formula& formula, std::int64_t b, std::int64_t r) {
        Formula::Row row;
        const std::int64_t axes[] = {b, r};
        formula.begin(row, axes);
        return row;
    }
    static Highest highest(const Formula& formula, std::int64_t b, std::int64_t r) {
        Formula::Row at = row(formula, b, r);
        return formula.highest(at);
    }
};

Phase layer(int index) { return {PhaseKind::backward_layer, 0, -1, index}; }

}  // namespace

TEST_CASE("level front: an instant that another exceeds everywhere is dropped") {
    Run r;
    r.spike(r.batch * 100, {PhaseKind::load});
    r.spike(r.batch * 100 + r.rank, {PhaseKind::head});       // more than the first
    r.spike(r.batch * 60 + r.rank, {PhaseKind::optimizer});   // less than the second
    r.spike(r.rank * 500, {PhaseKind::clip});                 // more for large ranks
    r.spike(r.batch * 100 + r.rank, {PhaseKind::zero_grad});  // a tie: the first stays
    const std::vector<FormulaInstant> kept = r.front.take();
    REQUIRE(kept.size() == 2);
    CHECK(kept[0].at.kind == PhaseKind::head);
    CHECK(kept[1].at.kind == PhaseKind::clip);
    const Formula formula(r.symbols, kept);
    CHECK(r.highest(formula, 8, 1).requested == 801);
    CHECK(r.highest(formula, 8, 1).at.kind == PhaseKind::head);
    CHECK(r.highest(formula, 1, 64).requested == 32000);
    CHECK(r.highest(formula, 1, 64).at.kind == PhaseKind::clip);
}

TEST_CASE("level front: only the last of a row of allocations counts, in each window") {
    Run r;
    r.front.grow(r.batch, {PhaseKind::load});
    r.front.grow(r.rank, {PhaseKind::load});
    r.front.grow(100, {PhaseKind::head});
    const std::vector<FormulaInstant> kept = r.front.take();
    REQUIRE(kept.size() == 1);
    CHECK(kept[0].at.kind == PhaseKind::head);
    CHECK(kept[0].bytes.size() == 3);
}

TEST_CASE("level front: where two instants tie for some rows, the first names the peak") {
    Run r;
    r.spike(r.batch * 100 + 64, {PhaseKind::head});
    r.spike(r.batch * 100 + r.rank + 63, {PhaseKind::clip});  // as high with rank 1, higher with all others
    const Formula formula(r.symbols, r.front.take());
    CHECK(r.highest(formula, 2, 1).at.kind == PhaseKind::head);
    CHECK(r.highest(formula, 2, 2).at.kind == PhaseKind::clip);
}

TEST_CASE("level front: of layers that grow alike, the first and the last are enough") {
    Run r;
    for (int i = 9; i >= 0; --i) r.spike(r.batch * (i + 1) * 1000 + r.rank * (10 - i) * 100, layer(i));
    const std::vector<FormulaInstant> kept = r.front.take();
    REQUIRE(kept.size() == 2);
    CHECK(kept[0].at == layer(9));
    CHECK(kept[1].at == layer(0));
}

TEST_CASE("level front: layers that do not grow alike all stay") {
    Run r;
    r.spike(r.batch * 3000 + r.rank * 100, layer(2));
    r.spike(r.batch * 2500 + r.rank * 200, layer(1));  // above the mean of its neighbours
    r.spike(r.batch * 1000 + r.rank * 300, layer(0));
    CHECK(r.front.take().size() == 3);
}

TEST_CASE("formula: its floor leaves out what comes and goes") {
    Run r;
    const Size paged = indicator_less(r.rank, 16) * r.rank * 1000;
    r.spike(r.batch * 100 + r.rank + paged, {PhaseKind::optimizer});
    const Formula formula(r.symbols, r.front.take());
    CHECK(r.highest(formula, 2, 4).requested == 204 + 4000);
    Formula::Row row = Run::row(formula, 2, 4);
    CHECK(formula.floor(row) == 204);
    CHECK(r.highest(formula, 2, 20).requested == 220);
}

TEST_CASE("formula: holds where every condition of its path does") {
    Run r;
    r.front.grow(r.batch < 4 ? r.batch * 10 : r.batch * 1000, {PhaseKind::load});
    const Formula formula(r.symbols, r.front.take());
    for (std::int64_t b = 1; b <= 8; ++b) {
        Formula::Row row;
        const std::int64_t axes[] = {b, 1};
        formula.begin(row, axes);
        CHECK(formula.covers(row) == (b < 4));
    }
}
