// Programs of rows from templates of their paths.
#include "sweep/row_replays.hpp"

#include <algorithm>

#include "predict/peaks.hpp"
#include "vramfit/predict/allocator.hpp"

namespace vramfit {

namespace {

constexpr std::size_t kMostTemplates = 256;  // less than a megabyte each
constexpr std::size_t kMostTaken = 32;       // before it is known which ones are asked for

}  // namespace

RowReplays::RowReplays(std::span<const SweepQuestion> questions) : questions_(questions) {
    for (const SweepQuestion& question : questions) axes_.emplace_back(question);
}

std::shared_ptr<RowReplays::Recorded> RowReplays::recorded(const Key& key) {
    const std::scoped_lock lock(mutex_);
    if (!recordings_.contains(key) && recordings_.size() == kMostTemplates)
        recordings_.erase(std::min_element(recordings_.begin(), recordings_.end(), [](const auto& a, const auto& b) {
            return a.second->last_use < b.second->last_use;
        }));
    std::shared_ptr<Recorded>& known = recordings_[key];
    if (!known) known = std::make_shared<Recorded>();
    known->last_use = ++uses_;
    return known;
}

TargetFormulas::TakeProgram RowReplays::taker(std::size_t question, std::size_t target) {
    const std::scoped_lock lock(mutex_);
    if (recordings_.size() >= kMostTaken) return nullptr;
    return [this, question, target](std::size_t path, ProgramTemplate program) {
        const std::shared_ptr<Recorded> taken = recorded({question, target, path});
        std::call_once(taken->once, [&] { taken->program = std::move(program); });
    };
}

void RowReplays::settle(SweepRow& row, std::size_t place) {
    const SweepQuestion& q = questions_[row.question];
    const RowAxes& axes = axes_[row.question];
    const std::shared_ptr<Recorded> known = recorded({row.question, coordinates_of(q.space, place).target, row.path});
    std::call_once(known->once, [&] {
        known->program =
            model::record_template(q.model, plan_of(q.space, q.base, place), q.stack, q.device, axes.ranges());
    });
    const Program program = known->program->at(axes.values(place).all());
    const Timeline timeline = replay(program, allocator_of(q.stack, q.device));
    row.verdict = timeline.out_of_memory ? Verdict::too_large : Verdict::fits;
    if (timeline.out_of_memory) return;
    const std::vector<PeakResult> peaks = find_peaks(program, timeline, run_shape(q.model, q.base), q.device.context);
    show_peak(row, highest_of(peaks));
}

void show_peak(SweepRow& row, const PeakResult* highest) {
    if (!highest) return;
    for (const Peak* peak : all_peaks())
        if (peak->name == highest->name) row.peak = peak;
    row.allocated = highest->allocated;
    row.reserved = highest->reserved;
}

}  // namespace vramfit
