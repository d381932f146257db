// Looking for the cheapest changes of a trainer's file with which the run fits.
#include "check/changes.hpp"

#include <algorithm>

#include "vramfit/base/error.hpp"
#include "vramfit/predict/predict.hpp"
#include "vramfit/spec/devices.hpp"

namespace vramfit {

namespace {

/// Later edits of a key go before earlier ones.
void add_edits(std::vector<TrainerEdit>& edits, const std::vector<TrainerEdit>& more) {
    for (const TrainerEdit& edit : more) {
        std::erase_if(edits, [&](const TrainerEdit& old) { return old.key == edit.key; });
        edits.push_back(edit);
    }
}

std::string value_before(const Reading& reading, const std::string& key) {
    for (const Input& input : reading.inputs)
        if (input.key == key && input.source == InputSource::file) return input.value;
    return {};
}

/// The run of the changed file on the card; nothing if it does not fit or cannot be predicted.
std::optional<PricedChange> priced(const CheckQuestion& question, const Reading& reading, const Device& device,
                                   const std::vector<const Proposal*>& parts) {
    PricedChange change;
    TrainerQuestion changed = question.trainer;
    for (const Proposal* part : parts) {
        change.titles.push_back(part->title);
        add_edits(change.edits, part->edits);
    }
    changed.edits.insert(changed.edits.end(), change.edits.begin(), change.edits.end());
    try {
        const Reading again = read_trainer_files(changed);
        if (!again.refusals.empty()) return std::nullopt;
        Job job = again.job;
        job.device = device;
        const Timeline run = timeline(job);  // one replay: without names of peaks, and none beyond what fits
        if (run.out_of_memory) return std::nullopt;
        change.reserved = run.peak.reserved;
        change.spare = of_process(device, job.plan.distributed).usable.count - run.peak.reserved;
    } catch (const Error&) {
        return std::nullopt;  // the library refuses what was proposed: no change at all
    }
    std::erase_if(change.edits, [&](const TrainerEdit& edit) { return value_before(reading, edit.key) == edit.value; });
    for (const TrainerEdit& edit : change.edits) change.before.push_back(value_before(reading, edit.key));
    return change;
}

bool is_told(const std::vector<PricedChange>& changes, const PricedChange& change) {
    return std::any_of(changes.begin(), changes.end(), [&](const PricedChange& c) { return c.edits == change.edits; });
}

/// The strongest proposal of each kind, in order, but those of one kind.
std::vector<const Proposal*> strongest_but(const std::vector<Proposal>& all, const std::string& without) {
    std::vector<const Proposal*> parts;
    for (const Proposal& each : all) {
        std::erase_if(parts, [&](const Proposal* old) { return old->id == each.id; });
        if (each.id != without) parts.push_back(&each);
    }
    return parts;
}

/// Of parts that fit together, those that are needed: the dearest are left out first.
std::vector<const Proposal*> needed(const CheckQuestion& question, const Reading& reading, const Device& device,
                                    std::vector<const Proposal*> parts) {
    for (std::size_t i = parts.size(); i-- > 0 && parts.size() > 1;) {
        std::vector<const Proposal*> fewer = parts;
        fewer.erase(fewer.begin() + static_cast<std::ptrdiff_t>(i));
        if (priced(question, reading, device, fewer)) parts = std::move(fewer);
    }
    return parts;
}

}  // namespace

std::vector<PricedChange> price_changes(const CheckQuestion& question, const Reading& reading, const Device& device) {
    std::vector<PricedChange> changes;
    const auto keep = [&](std::optional<PricedChange> change) {
        if (change && !is_told(changes, *change)) changes.push_back(std::move(*change));
    };
    std::vector<std::string> done;  // the mildest of each kind is enough
    for (const Proposal& each : reading.proposals) {
        if (changes.size() >= question.most_changes) return changes;
        if (std::find(done.begin(), done.end(), each.id) != done.end()) continue;
        auto change = priced(question, reading, device, {&each});
        if (change) done.push_back(each.id);
        keep(std::move(change));
    }
    if (!changes.empty()) return changes;
    // Nothing is enough alone: kinds together, then the same without one of those that were needed.
    const auto together = [&](const std::string& without) {
        const auto parts = strongest_but(reading.proposals, without);
        if (parts.size() < 2 || !priced(question, reading, device, parts)) return std::vector<const Proposal*>();
        const auto few = needed(question, reading, device, parts);
        keep(priced(question, reading, device, few));
        return few;
    };
    const auto first = together("");
    for (const Proposal* part : first) {
        if (changes.size() >= question.most_changes) break;
        together(part->id);
    }
    return changes;
}

}  // namespace vramfit
