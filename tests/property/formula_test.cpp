// A formula says what a recording of the row itself says, and so does the program of its path: the jobs of the traces,
// of every family, stack and feature, with random batches, lengths and ranks.
#include <algorithm>
#include <deque>
#include <random>

#include "model/record.hpp"
#include "support/catch.hpp"
#include "support/sanitized.hpp"
#include "support/trace_jobs.hpp"
#include "vramfit/base/error.hpp"
#include "vramfit/spec/job.hpp"
#include "vramfit/spec/plan_check.hpp"

namespace vramfit::test {

namespace {

constexpr model::AxisRange kBatch{1, 6}, kLength{8, 300}, kRank{1, 100};
constexpr std::int64_t kMostLayers = 6;  // of real models there are small ones of the same features
constexpr int kRows = kSanitized ? 1 : 4;
constexpr std::size_t kEvery = kSanitized ? 22 : 4;  // of the jobs

/// What each window allocates and frees. The frees in a row are sorted: a set of tensors dies in any order.
std::vector<std::vector<std::int64_t>> changes(const Program& program) {
    std::vector<std::vector<std::int64_t>> out;
    std::size_t window = 0;
    std::size_t frees = 0;  // at the end of the last window
    for (std::size_t e = 0; e < program.events.size(); ++e) {
        for (; window < program.windows.size() && program.windows[window].first_event <= e; ++window, frees = 0)
            out.emplace_back();
        const Event& event = program.events[e];
        if (event.kind != EventKind::alloc && event.kind != EventKind::free) continue;
        const std::int64_t bytes = program.allocations[event.id].bytes;
        out.back().push_back(event.kind == EventKind::alloc ? bytes : -bytes);
        frees = event.kind == EventKind::alloc ? 0 : frees + 1;
        for (std::size_t i = out.back().size() - 1, n = frees; n > 1 && out.back()[i] < out.back()[i - 1]; --i, --n)
            std::swap(out.back()[i], out.back()[i - 1]);
    }
    return out;
}

struct Tally {
    int rows = 0;
    int formulas = 0;
    int refused = 0;
};

/// Of preferences: a prompt, and a token of the shortest completion.
std::int64_t least_length(const TrainPlan& plan) {
    if (!is_preference(plan.loop.kind)) return 1;
    const auto most = [](const std::vector<std::int64_t>& all) { return *std::max_element(all.begin(), all.end()); };
    const PairLengths& pairs = plan.batch.pairs;
    return most(pairs.prompt) + std::max(most(pairs.chosen_shorter), most(pairs.rejected_shorter)) + 1;
}

/// The formulas of one job; each row is compared with all of them that hold for it, and with its own recording.
class JobFormulas {
  public:
    explicit JobFormulas(Job job) : job_(std::move(job)) {}

    void check(std::mt19937& random, Tally& tally) {
        TrainPlan plan = job_.plan;
        const auto pick = [&random](const model::AxisRange& range) {
            return range.low + static_cast<std::int64_t>(random()) % (range.high - range.low + 1);
        };
        const model::AxisRange lengths{std::max(kLength.low, least_length(plan)), kLength.high};
        if (lengths.low > lengths.high) return;
        std::vector<std::int64_t> axes{pick(kBatch), pick(lengths)};
        plan.training.per_device_train_batch_size = axes[0];
        plan.batch.sequence_length = axes[1];
        if (plan.peft) axes.push_back(plan.peft->r = pick(kRank));
        CAPTURE(to_json_text(Job{job_.model, plan, job_.stack, job_.device, {}}));
        if (!possible(plan)) return;
        try {
            compare(plan, axes, tally);
        } catch (const Error& e) {
            ++tally.refused;
            CHECK_THROWS_AS(model::formulate(job_.model, plan, job_.stack, job_.device, {kBatch, kLength, kRank}),
                            Error);
        }
    }

  private:
    /// Not every rank, length or size of a batch is: the blocks of GraLoRA divide the rank.
    [[nodiscard]] bool possible(const TrainPlan& plan) const {
        try {
            check_plan(job_.model, plan, job_.stack);
            return true;
        } catch (const Error&) {
            return false;
        }
    }
    void compare(const TrainPlan& plan, const std::vector<std::int64_t>& axes, Tally& tally) {
        const Summary summary = model::summarize(job_.model, plan, job_.stack, job_.device);
        ++tally.rows;
        bool known = false;
        for (const model::FormulaAndProgram& path : paths_) {
            const bool covered = agrees(path.formula, axes, summary);
            CHECK(path.program.covers(axes) == covered);
            if (!covered) continue;
            if (!known) check_program(path.program, plan, axes);
            known = true;
        }
        if (known) return;
        paths_.push_back(
            model::formulate_with_program(job_.model, plan, job_.stack, job_.device, {kBatch, kLength, kRank}));
        ++tally.formulas;
        CHECK(agrees(paths_.back().formula, axes, summary));
    }
    void check_program(const ProgramTemplate& path, const TrainPlan& plan, const std::vector<std::int64_t>& axes) {
        CHECK(changes(path.at(axes)) == changes(model::record(job_.model, plan, job_.stack, job_.device)));
    }
    /// Whether the formula holds for the row; if so, it must say the same.
    static bool agrees(const Formula& formula, const std::vector<std::int64_t>& axes, const Summary& summary) {
        Formula::Row row;
        formula.begin(row, axes);
        if (!formula.covers(row)) return false;
        const Highest highest = formula.highest(row);
        CHECK(highest.requested == summary.requested);
        CHECK(highest.at == summary.at);
        CHECK(formula.floor(row) <= highest.requested);
        return true;
    }

    Job job_;
    std::deque<model::FormulaAndProgram> paths_;
};

}  // namespace

TEST_CASE("formulas: rows of all families, stacks and features as they are recorded", "[long]") {
    std::mt19937 random(12);
    Tally tally;
    for (Job& job : accepted_trace_jobs(kMostLayers, 0, kEvery)) {
        if (generates_rows(job.plan.loop.kind)) continue;  // which has none: what it generates is a loop
        JobFormulas formulas(std::move(job));
        for (int i = 0; i < kRows; ++i) formulas.check(random, tally);
    }
    CAPTURE(tally.rows, tally.formulas, tally.refused);
    CHECK(tally.rows > 100 * kRows / static_cast<int>(kEvery));
    CHECK(tally.refused < tally.rows / 4);
    if (kRows > 1) CHECK(tally.formulas < tally.rows);
}

}  // namespace vramfit::test
