// What is written again instead of being run is what the run would have written: the jobs of the traces, of every
// family, stack and feature, with more steps and micro batches.
#include "model/loops/repeated.hpp"

#include <algorithm>
#include <random>
#include <tuple>

#include "model/record.hpp"
#include "support/catch.hpp"
#include "support/sanitized.hpp"
#include "support/trace_jobs.hpp"
#include "vramfit/base/error.hpp"
#include "vramfit/spec/plan_check.hpp"

namespace vramfit::test {

namespace {

constexpr std::int64_t kMostLayersRepeated = 4;
constexpr std::size_t kEveryRepeated = kSanitized ? 100 : 4;  // of the jobs

/// Frees in a row by their allocations: a set of tensors (autocast's casts) dies in any order.
void sort_frees(std::vector<Event>& events) {
    const auto is_free = [](const Event& e) { return e.kind == EventKind::free; };
    for (auto at = events.begin(); at != events.end();) {
        const auto first = std::find_if(at, events.end(), is_free);
        at = std::find_if_not(first, events.end(), is_free);
        std::sort(first, at, [](const Event& x, const Event& y) { return x.id < y.id; });
    }
}

void check_same(Program a, Program b) {
    sort_frees(a.events);
    sort_frees(b.events);
    REQUIRE(a.events.size() == b.events.size());
    REQUIRE(a.allocations.size() == b.allocations.size());
    const auto event = [](const Event& e) { return std::tuple(e.kind, e.id, e.stream); };
    const auto differ = [](const auto& x, const auto& y, const auto& of) {
        const auto at = std::mismatch(x.begin(), x.end(), y.begin(),
                                      [&of](const auto& p, const auto& q) { return of(p) == of(q); });
        return at.first - x.begin();
    };
    CHECK(differ(a.events, b.events, event) == static_cast<std::ptrdiff_t>(a.events.size()));
    const auto allocation = [](const Allocation& x) {
        return std::tuple(x.bytes, x.category, x.op, x.layer, x.stream);
    };
    CHECK(differ(a.allocations, b.allocations, allocation) == static_cast<std::ptrdiff_t>(a.allocations.size()));
    REQUIRE(a.windows.size() == b.windows.size());
    const auto window = [](const Window& w) { return std::pair(name_of(w.phase), w.first_event); };
    CHECK(differ(a.windows, b.windows, window) == static_cast<std::ptrdiff_t>(a.windows.size()));
    REQUIRE(a.marks.size() == b.marks.size());
    const auto mark = [](const Mark& m) { return std::pair(m.name, m.before_event); };
    CHECK(differ(a.marks, b.marks, mark) == static_cast<std::ptrdiff_t>(a.marks.size()));
}

}  // namespace

TEST_CASE("repeated: programs of all families, stacks and features are those of every batch run") {
    std::mt19937 random(31);
    std::size_t jobs = 0;
    std::size_t compared = 0;
    for (Job& job : accepted_trace_jobs(kMostLayersRepeated, 0, kEveryRepeated)) {
        ++jobs;
        job.plan.loop.steps = 2 + static_cast<std::int32_t>(random() % 2);
        if (random() % 2 == 0)
            job.plan.training.gradient_accumulation_steps = 1 + static_cast<std::int64_t>(random() % 4);
        CAPTURE(to_json_text(job));
        try {
            check_plan(job.model, job.plan, job.stack);
            const Program whole = model::record_every_batch(job.model, job.plan, job.stack, job.device);
            check_same(model::record(job.model, job.plan, job.stack, job.device), whole);
            ++compared;
        } catch (const Error&) {
            continue;  // other numbers of micro batches than the loop takes
        }
    }
    CHECK(jobs >= 200 / kEveryRepeated);
    CHECK(2 * compared > jobs);
}

}  // namespace vramfit::test
