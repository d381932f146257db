// A sweep says of each row what a prediction of the row itself says: more than 15,000 random rows of the jobs of the
// traces, of every family, method, stack and feature.
#include <algorithm>
#include <random>

#include "model/record.hpp"
#include "property/random_questions.hpp"
#include "property/same_rows.hpp"
#include "support/catch.hpp"
#include "support/sanitized.hpp"
#include "support/trace_jobs.hpp"
#include "vramfit/base/error.hpp"
#include "vramfit/spec/devices.hpp"
#include "vramfit/spec/modules.hpp"
#include "vramfit/sweep/sweep.hpp"

namespace vramfit::test {

namespace {

constexpr std::int64_t kMostLayersOfRows = 4;
constexpr std::size_t kPartsOfRows = 12;                                   // test cases that share the jobs
constexpr std::size_t kEveryOfRows = kSanitized ? 996 : 8 * kPartsOfRows;  // every eighth job
constexpr std::size_t kFirstOfPart = kSanitized ? 83 : 8;                  ///< job of one part to that of the next
constexpr std::size_t kLengthsOfRows = kSanitized ? 1 : 2;
constexpr std::size_t kRowsOfPart = kSanitized ? 0 : 7'500 / kPartsOfRows;

template <class T>
std::vector<T> some_of(Random& random, const std::vector<T>& from, std::size_t count) {
    std::vector<T> out = from;
    std::shuffle(out.begin(), out.end(), random);
    out.resize(std::min(count, out.size()));
    return out;
}

/// Some 100 rows around the job's own.
SweepSpace space_around(Random& random, const Job& job) {
    SweepSpace space;
    const auto numbers = [&random](std::int64_t most, std::size_t count) {
        std::vector<std::int64_t> out;
        while (out.size() < count) {
            const std::int64_t value = 1 + static_cast<std::int64_t>(random()) % most;
            if (std::find(out.begin(), out.end(), value) == out.end()) out.push_back(value);
        }
        return out;
    };
    space.batches = some_of<std::int64_t>(random, {1, 2, 3, 4, 6, 8}, 3);
    space.lengths = numbers(400, (job.plan.peft ? 1 : 4) * kLengthsOfRows);
    space.ranks = {1};
    space.targets = {{"all weights", {}}};
    if (!job.plan.peft) return space;
    space.ranks = numbers(100, 3);
    space.targets.clear();
    const auto* names = std::get_if<std::vector<std::string>>(&job.plan.peft->target_modules);
    const std::vector<std::string> all = names && !names->empty() ? *names : group_names(job.model, "attention");
    space.targets.push_back({"all", all});
    if (all.size() > 1) space.targets.push_back({"one", {all[random() % all.size()]}});
    return space;
}

struct RowTally {
    std::size_t rows = 0;
    std::size_t fit = 0;
};

void compare_rows(const SweepQuestion& q, RowTally& tally) {
    SweepOptions with, without;
    with.selection.top = 5;
    without.prune = false;
    SweepResult whole;
    try {
        whole = sweep(q, without);
    } catch (const Error&) {
        CHECK_THROWS_AS(sweep(q, with), Error);  // no row is one that the libraries take
        return;
    }
    check_same_rows(sweep(q, with), whole, with.selection.top);
    tally.rows += whole.rows.size();
    tally.fit += whole.ranking.size();
}

/// The card as it is, or one whose border is close to what some row requests.
Device card_for(Random& random, const SweepQuestion& q) {
    try {
        return tight_card(random, q);
    } catch (const Error&) {
        return q.device;
    }
}

RowTally compare_part(std::size_t part) {
    Random random(static_cast<unsigned>(100 + part));
    RowTally tally;
    for (Job& job : accepted_trace_jobs(kMostLayersOfRows, part * kFirstOfPart, kEveryOfRows)) {
        SweepQuestion q;
        q.space = space_around(random, job);
        q.model = std::move(job.model);
        q.base = std::move(job.plan);
        q.stack = std::move(job.stack);
        q.device = of_process(job.device, q.base);
        if (!q.base.distributed && random() % 3 == 0) q.base.training.gradient_accumulation_steps = 3;
        CAPTURE(to_json_text(Job{q.model, q.base, q.stack, q.device, {}}));
        q.device = card_for(random, q);
        compare_rows(q, tally);
    }
    return tally;
}

void check_part(std::size_t part) {
    const RowTally tally = compare_part(part);
    CHECK(tally.rows >= kRowsOfPart);
    if (tally.rows < 1000) return;  // of sanitizers
    CHECK(tally.fit > tally.rows / 20);
    CHECK(tally.fit < tally.rows);
}

}  // namespace

TEST_CASE("rows: as predicted one by one, part 1") { check_part(0); }
TEST_CASE("rows: as predicted one by one, part 2") { check_part(1); }
TEST_CASE("rows: as predicted one by one, part 3") { check_part(2); }
TEST_CASE("rows: as predicted one by one, part 4") { check_part(3); }
TEST_CASE("rows: as predicted one by one, part 5", "[long]") { check_part(4); }
TEST_CASE("rows: as predicted one by one, part 6", "[long]") { check_part(5); }
TEST_CASE("rows: as predicted one by one, part 7", "[long]") { check_part(6); }
TEST_CASE("rows: as predicted one by one, part 8", "[long]") { check_part(7); }
TEST_CASE("rows: as predicted one by one, part 9", "[long]") { check_part(8); }
TEST_CASE("rows: as predicted one by one, part 10", "[long]") { check_part(9); }
TEST_CASE("rows: as predicted one by one, part 11", "[long]") { check_part(10); }
TEST_CASE("rows: as predicted one by one, part 12", "[long]") { check_part(11); }

}  // namespace vramfit::test
