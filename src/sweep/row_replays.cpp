// Programs of rows from templates of their paths.
#include "sweep/row_replays.hpp"

#include "predict/peaks.hpp"
#include "vramfit/predict/allocator.hpp"

namespace vramfit {

namespace {

constexpr std::size_t kMostTemplates = 32;  // about a megabyte each

}  // namespace

RowReplays::RowReplays(std::span<const SweepQuestion> questions) : questions_(questions) {
    for (const SweepQuestion& question : questions) axes_.emplace_back(question);
}

const ProgramTemplate& RowReplays::template_of(const SweepRow& row, std::size_t place) {
    const std::pair key{row.question, row.path};
    const auto known = templates_.find(key);
    if (known != templates_.end()) return known->second;
    if (templates_.size() == kMostTemplates) templates_.clear();
    const SweepQuestion& q = questions_[row.question];
    return templates_
        .emplace(key, model::record_template(q.model, plan_of(q.space, q.base, place), q.stack, q.device,
                                             axes_[row.question].ranges()))
        .first->second;
}

void RowReplays::settle(SweepRow& row, std::size_t place) {
    const SweepQuestion& q = questions_[row.question];
    const Program program = template_of(row, place).at(axes_[row.question].values(place).all());
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
