// Programs of rows from templates of their paths.
#include "sweep/row_replays.hpp"

#include <algorithm>

#include "predict/ends.hpp"
#include "predict/peaks.hpp"
#include "predict/unsloth_on_card.hpp"

namespace vramfit {

namespace {

constexpr std::size_t kMostHeld = std::size_t{192} << 20;  // a program of 18 layers has 0.3 MB

}  // namespace

RowReplays::RowReplays(std::span<const SweepQuestion> questions) : questions_(questions) {
    for (const SweepQuestion& question : questions) axes_.emplace_back(question);
}

std::shared_ptr<RowReplays::Recorded> RowReplays::recorded(const Key& key) {
    const std::scoped_lock lock(mutex_);
    std::shared_ptr<Recorded>& known = recordings_[key];
    if (!known) known = std::make_shared<Recorded>();
    known->last_use = ++uses_;
    return known;
}

/// The programs that were not used for longest make room; whoever replays one of them holds it until then.
void RowReplays::keep(const Key& key, Recorded& recorded, ProgramTemplate program) {
    recorded.program = std::move(program);
    const std::scoped_lock lock(mutex_);
    recorded.bytes = recorded.program->bytes();
    held_ += recorded.bytes;
    while (held_ > kMostHeld) {
        auto oldest = recordings_.end();
        for (auto at = recordings_.begin(); at != recordings_.end(); ++at)
            if (at->second->bytes > 0 && at->first != key &&
                (oldest == recordings_.end() || at->second->last_use < oldest->second->last_use))
                oldest = at;
        if (oldest == recordings_.end()) return;
        held_ -= oldest->second->bytes;
        recordings_.erase(oldest);
    }
}

TargetFormulas::TakeProgram RowReplays::taker(std::size_t question, std::size_t target) {
    if (asks_card(questions_[question].base, questions_[question].device)) return nullptr;
    const std::scoped_lock lock(mutex_);
    if (held_ > kMostHeld / 4 * 3) return nullptr;
    return [this, question, target](std::size_t path, ProgramTemplate program) {
        const Key key{question, target, path};
        const std::shared_ptr<Recorded> taken = recorded(key);
        std::call_once(taken->once, [&] { keep(key, *taken, std::move(program)); });
    };
}

Judged RowReplays::judge_unsloth(std::size_t question, std::size_t target, const TrainPlan& plan) {
    const SweepQuestion& q = questions_[question];
    std::unique_lock lock(mutex_);
    UnslothOnCard choices = choices_[{question, target}];
    lock.unlock();
    Judged judged = judge_from(choices, q.model, plan, q.stack, q.device);
    lock.lock();
    choices_[{question, target}] = choices;
    return judged;
}

void RowReplays::settle(SweepRow& row, std::size_t place) {
    const SweepQuestion& q = questions_[row.question];
    const TrainPlan plan = plan_of(q.space, q.base, place);
    const std::size_t target = coordinates_of(q.space, place).target;
    const auto show = [&](const Judged& judged, const Program& program) {
        row.verdict = judged.ends.verdict();
        if (judged.on_card.out_of_memory) return;
        const std::vector<PeakResult> peaks =
            find_peaks(program, judged.on_card, run_shape(q.model, q.base), q.device.context);
        show_run(row, judged.on_card.peak, highest_of(peaks));
    };
    if (asks_card(plan, q.device)) {
        const Judged judged = judge_unsloth(row.question, target, plan);
        return show(judged, *judged.program);
    }
    const RowAxes& axes = axes_[row.question];
    const Key key{row.question, target, row.path};
    const std::shared_ptr<Recorded> known = recorded(key);
    std::call_once(known->once,
                   [&] { keep(key, *known, model::record_template(q.model, plan, q.stack, q.device, axes.ranges())); });
    const Program program = known->program->at(axes.values(place).all());
    show(judge_program(program, q.model, plan, q.stack, q.device), program);
}

void show_run(SweepRow& row, const Levels& levels, const PeakResult* highest) {
    row.requested_there = levels.requested;
    row.allocated = levels.allocated;
    row.reserved = levels.reserved;  // the most of the run, which may be behind its highest moment
    if (!highest) return;
    for (const Peak* peak : all_peaks())
        if (peak->name == highest->name) row.peak = peak;
}

}  // namespace vramfit
