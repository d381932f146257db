// Programs of rows from templates of their paths.
#include "sweep/row_replays.hpp"

#include <algorithm>

#include "predict/ends.hpp"
#include "predict/peaks.hpp"

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
    const std::scoped_lock lock(mutex_);
    if (held_ > kMostHeld / 4 * 3) return nullptr;
    return [this, question, target](std::size_t path, ProgramTemplate program) {
        const Key key{question, target, path};
        const std::shared_ptr<Recorded> taken = recorded(key);
        std::call_once(taken->once, [&] { keep(key, *taken, std::move(program)); });
    };
}

void RowReplays::settle(SweepRow& row, std::size_t place) {
    const SweepQuestion& q = questions_[row.question];
    const RowAxes& axes = axes_[row.question];
    const Key key{row.question, coordinates_of(q.space, place).target, row.path};
    const std::shared_ptr<Recorded> known = recorded(key);
    std::call_once(known->once, [&] {
        keep(key, *known,
             model::record_template(q.model, plan_of(q.space, q.base, place), q.stack, q.device, axes.ranges()));
    });
    const Program program = known->program->at(axes.values(place).all());
    const Judged judged = judge_program(program, q.model, plan_of(q.space, q.base, place), q.stack, q.device);
    row.verdict = judged.ends.verdict();
    const Timeline& timeline = judged.on_card;
    if (timeline.out_of_memory) return;
    const std::vector<PeakResult> peaks =
        find_peaks(judged.of_card(program), timeline, run_shape(q.model, q.base), q.device.context);
    show_run(row, timeline.peak, highest_of(peaks));
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
