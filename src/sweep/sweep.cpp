// The sweep: what every row requests, then replays from the top down until the ranking is certain.
#include "vramfit/sweep/sweep.hpp"

#include <algorithm>

#include "sweep/search.hpp"
#include "vramfit/base/error.hpp"
#include "vramfit/predict/predict.hpp"

namespace vramfit {

namespace {

void replay_row(const SweepQuestion& question, SweepRow& row) {
    const TrainPlan plan = plan_of(question.space, question.base, row.number);
    const Prediction p = predict(question.model, plan, question.stack, question.device);
    row.verdict = p.verdict;
    const auto highest =
        std::find_if(p.peaks.begin(), p.peaks.end(), [&p](const PeakResult& r) { return r.name == p.highest; });
    if (highest != p.peaks.end()) {
        row.peak = highest->name;
        row.allocated = highest->allocated;
        row.reserved = highest->reserved;
    }
}

void count(SweepResult& result) {
    result.counts.total = result.rows.size();
    for (const SweepRow& r : result.rows) {
        result.counts.simulated += r.status == RowStatus::simulated;
        result.counts.ruled_out += r.status == RowStatus::ruled_out;
        result.counts.invalid += r.status == RowStatus::invalid;
    }
}

}  // namespace

SweepResult sweep(const SweepQuestion& question, const SweepOptions& options) {
    if (!question.device.capacity_known)
        throw Error(ErrorKind::invalid, "--gpu", "a sweep needs a card to fill",
                    "give one, e.g. --gpu 24GiB or --gpu rtx4090");
    SweepResult result;
    Search search(question, options, result);
    result.notes.insert(result.notes.begin(), question.device.notes.begin(), question.device.notes.end());
    search.settle();
    const bool all = options.top == 0 || !options.prune;
    for (const std::size_t row : search.candidates()) {
        if (!all && result.ranking.size() >= options.top) break;
        replay_row(question, result.rows[row]);
        ++result.counts.replayed;
        if (result.rows[row].verdict == Verdict::fits) result.ranking.push_back(row);
    }
    count(result);
    return result;
}

}  // namespace vramfit
