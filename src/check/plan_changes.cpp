// Changes of flags: the common search, with each answer predicted from the flags as they would be given.
#include "vramfit/check/plan_changes.hpp"

#include "check/fit.hpp"
#include "check/plan_knobs.hpp"
#include "check/search.hpp"
#include "check/tried.hpp"
#include "check/turned_jobs.hpp"
#include "vramfit/base/error.hpp"

namespace vramfit {

namespace {

// A prediction of one run should not take several times as long because it does not fit.
constexpr std::size_t kMostRuns = 12;

class FlagSearch {
  public:
    FlagSearch(const Job& job, const JobWith& with) : with_(with), knobs_(plan_knobs(job)) {}

    PlanChanges changes(std::size_t most) const {
        PlanChanges out;
        std::vector<Knob> knobs;
        for (const PlanKnob& knob : knobs_) {
            knobs.push_back({knob.id, knob.steps.size()});
            out.tried.push_back(tried_text(knob.id));
        }
        TurnedJobs jobs([this](const Turns& turns) { return job(turns); });
        const FoundTurns found = find_turns(knobs, jobs.run(), {.changes = most, .runs = kMostRuns});
        for (const Turns& turns : found.fitting)
            if (const auto& needs = jobs.fit(turns)) out.changes.push_back(change(turns, *needs));
        if (found.smallest) add_smallest(*found.smallest, out);
        return out;
    }

  private:
    FlagValues values(const Turns& turns) const {
        FlagValues values;
        for (std::size_t k = 0; k < turns.size(); ++k)
            if (turns[k] > 0)
                for (const FlagValue& flag : knobs_[k].steps[turns[k] - 1].flags) values[flag.flag] = flag.value;
        return values;
    }

    std::optional<Job> job(const Turns& turns) const {
        try {
            return with_(values(turns));
        } catch (const Error&) {  // flags that contradict each other
            return std::nullopt;
        }
    }

    PlanChange change(const Turns& turns, const Fit& needs) const {
        PlanChange out;
        for (std::size_t k = 0; k < turns.size(); ++k) {
            if (turns[k] == 0) continue;
            const PlanStep& step = knobs_[k].steps[turns[k] - 1];
            out.titles.push_back(step.title);
            out.flags.insert(out.flags.end(), step.flags.begin(), step.flags.end());
        }
        out.reserved = needs.reserved;
        out.spare = needs.spare;
        return out;
    }

    void add_smallest(const Turns& turns, PlanChanges& out) const {
        try {
            const Job smallest = with_(values(turns));
            const Fit needs = need_of(smallest);
            out.smallest = change(turns, needs);
            out.holds_smallest = smallest_card(needs.reserved, smallest);
        } catch (const Error&) {  // not even the run that was asked about can be
        }
    }

    const JobWith& with_;
    std::vector<PlanKnob> knobs_;
};

}  // namespace

PlanChanges plan_changes(const Job& job, const JobWith& with, std::size_t most) {
    return FlagSearch(job, with).changes(most);
}

std::string smallest_gpu(const Job& job, std::int64_t need) { return smallest_card(need, job); }

}  // namespace vramfit
