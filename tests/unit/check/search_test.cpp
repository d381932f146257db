// The search for changes, on runs that are made up.
#include "check/search.hpp"

#include <numeric>

#include "support/catch.hpp"

using namespace vramfit;

namespace {

/// A run that needs `start` and for each step of a knob so much less.
struct MadeUp {
    std::int64_t start;
    std::int64_t capacity;
    std::vector<std::int64_t> saves;
    std::size_t asked = 0;

    std::int64_t needs(const Turns& turns) const {
        std::int64_t bytes = start;
        for (std::size_t k = 0; k < turns.size(); ++k) bytes -= saves[k] * static_cast<std::int64_t>(turns[k]);
        return bytes;
    }
    TurnedRun run() {
        return {[this](const Turns& turns) { return ++asked, needs(turns) <= capacity; },
                [this](const Turns& turns) { return std::optional(needs(turns)); },
                [this](const Turns& turns) { return std::optional(needs(turns)); }};
    }
};

const std::vector<Knob> kKnobs = {{"cheap", 4}, {"middle", 1}, {"dear", 8}};

}  // namespace

TEST_CASE("the cheapest knob alone, turned no further than needed, then what does without it") {
    MadeUp run{100, 75, {10, 30, 5}};
    const FoundTurns found = find_turns(kKnobs, run.run(), {.changes = 3});
    REQUIRE(found.fitting.size() == 3);
    CHECK(found.fitting[0] == Turns{3, 0, 0});
    CHECK(found.fitting[1] == Turns{0, 1, 0});
    CHECK(found.fitting[2] == Turns{0, 0, 5});
    CHECK(!found.smallest);
}

TEST_CASE("knobs together where none is enough alone; the dearest is turned back first") {
    MadeUp run{100, 25, {10, 30, 5}};
    const FoundTurns found = find_turns(kKnobs, run.run(), {.changes = 3});
    REQUIRE(!found.fitting.empty());
    CHECK(found.fitting[0] == Turns{4, 1, 1});
    for (const Turns& turns : found.fitting) CHECK(run.needs(turns) <= 25);
}

TEST_CASE("where nothing fits, the smallest run without knobs that do nothing") {
    MadeUp run{100, 1, {10, 0, 5}};
    const FoundTurns found = find_turns(kKnobs, run.run(), {.changes = 3});
    CHECK(found.fitting.empty());
    REQUIRE(found.smallest);
    CHECK(*found.smallest == Turns{4, 0, 8});
}

TEST_CASE("a knob that makes the run larger, or that cannot be, does not hide the others") {
    MadeUp run{100, 60, {10, -200, 5}};
    TurnedRun larger = run.run();
    const FoundTurns found = find_turns(kKnobs, larger, {.changes = 1});
    REQUIRE(found.fitting.size() == 1);
    CHECK(found.fitting[0] == Turns{4, 0, 0});
    MadeUp other{100, 60, {10, 50, 5}};
    TurnedRun refusing = other.run();
    refusing.fits = [&](const Turns& turns) { return turns[1] == 0 && other.needs(turns) <= other.capacity; };
    refusing.requested = [&](const Turns& turns) {
        return turns[1] == 0 ? std::optional(other.needs(turns)) : std::nullopt;
    };
    const FoundTurns without = find_turns(kKnobs, refusing, {.changes = 1});
    REQUIRE(without.fitting.size() == 1);
    CHECK(without.fitting[0] == Turns{4, 0, 0});
}

TEST_CASE("the smallest run keeps a knob that saves nothing but reserved memory, and no idle one") {
    MadeUp run{100, 10, {10, 0, 0}};
    TurnedRun turned = run.run();
    turned.reserved = [&](const Turns& turns) {
        return std::optional(run.needs(turns) + 8 - static_cast<std::int64_t>(turns[2]));
    };
    const FoundTurns found = find_turns(kKnobs, turned, {.changes = 1});
    CHECK(found.fitting.empty());
    REQUIRE(found.smallest);
    CHECK(*found.smallest == Turns{4, 0, 8});
}

TEST_CASE("a search asks about few runs") {
    MadeUp run{100'000, 60'000, std::vector<std::int64_t>(12, 10)};
    run.saves.back() = 30'000;
    const std::vector<Knob> many(12, Knob{"knob", 9});
    const FoundTurns found = find_turns(many, run.run(), {.changes = 3});
    CHECK(!found.fitting.empty());
    CHECK(run.asked < 150);
}

TEST_CASE("after enough runs no further change is looked for") {
    MadeUp all{100, 75, {10, 30, 5}};
    CHECK(find_turns(kKnobs, all.run(), {.changes = 3}).fitting.size() == 3);
    MadeUp few = all;
    few.asked = 0;
    CHECK(find_turns(kKnobs, few.run(), {.changes = 3, .runs = 1}).fitting.size() == 1);
    CHECK(few.asked < all.asked);
}

TEST_CASE("runs of many events: what was not asked about in time is too large, and what fits is still a change") {
    MadeUp run{100, 75, {10, 30, 5}};
    std::size_t events = 0;
    TurnedRun long_runs = run.run();
    long_runs.fits = [&](const Turns& turns) { return events += 10, run.needs(turns) <= run.capacity; };
    long_runs.events = [&] { return events; };
    const FoundTurns found = find_turns(kKnobs, long_runs, {.changes = 3, .events = 40});
    CHECK(events < 40 + 10 * 8);
    REQUIRE(!found.fitting.empty());
    for (const Turns& turns : found.fitting) CHECK(run.needs(turns) <= run.capacity);
    // What is asked before anything is known to fit is asked in any case.
    CHECK(find_turns(kKnobs, long_runs, {.changes = 1, .events = 1}).fitting == std::vector<Turns>{{4, 1, 8}});
    CHECK(find_turns(kKnobs, long_runs, {.changes = 3, .events = 10'000}).fitting.size() == 3);
}
