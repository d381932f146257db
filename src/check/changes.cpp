// Changes of a trainer's file: the common search, with each answer predicted from the file as it would then be read.
#include "check/changes.hpp"

#include <algorithm>

#include "check/search.hpp"
#include "check/tried.hpp"
#include "check/turned_jobs.hpp"
#include "vramfit/base/error.hpp"

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

class EditSearch {
  public:
    EditSearch(const CheckQuestion& question, const Reading& reading, const Device& device)
        : question_(question), reading_(reading), device_(device) {
        for (const Proposal& proposal : reading.proposals) {
            if (knobs_.empty() || knobs_.back().id != proposal.id) {
                knobs_.push_back({proposal.id, 0});
                proposals_.emplace_back();
            }
            ++knobs_.back().steps;
            proposals_.back().push_back(&proposal);
        }
    }

    void add_to(CheckAnswer& answer) const {
        for (const Knob& knob : knobs_) answer.tried.push_back(tried_text(knob.id));
        TurnedJobs jobs([this](const Turns& turns) { return job(turns); });
        const FoundTurns found = find_turns(knobs_, jobs.run(), {.changes = question_.most_changes});
        for (const Turns& turns : found.fitting)
            if (const auto& needs = jobs.fit(turns)) answer.changes.push_back(change(turns, *needs));
        if (!found.smallest) return;
        if (const auto smallest = job(*found.smallest)) {
            const Fit needs = need_of(*smallest);
            answer.smallest = change(*found.smallest, needs);
            answer.holds_smallest = smallest_card(needs.reserved, *smallest);
        }
    }

  private:
    std::vector<TrainerEdit> edits(const Turns& turns) const {
        std::vector<TrainerEdit> edits;
        for (std::size_t k = 0; k < turns.size(); ++k)
            if (turns[k] > 0) add_edits(edits, proposals_[k][turns[k] - 1]->edits);
        return edits;
    }

    /// The run of the changed file on the card; nothing if it is refused.
    std::optional<Job> job(const Turns& turns) const {
        TrainerQuestion changed = question_.trainer;
        const std::vector<TrainerEdit> more = edits(turns);
        changed.edits.insert(changed.edits.end(), more.begin(), more.end());
        try {
            Reading again = read_trainer_files(changed);
            if (!again.refusals.empty()) return std::nullopt;
            again.job.device = device_;
            return std::move(again.job);
        } catch (const Error&) {
            return std::nullopt;
        }
    }

    PricedChange change(const Turns& turns, const Fit& needs) const {
        PricedChange out;
        for (std::size_t k = 0; k < turns.size(); ++k)
            if (turns[k] > 0) out.titles.push_back(proposals_[k][turns[k] - 1]->title);
        out.edits = edits(turns);
        std::erase_if(out.edits,
                      [&](const TrainerEdit& edit) { return value_before(reading_, edit.key) == edit.value; });
        for (const TrainerEdit& edit : out.edits) out.before.push_back(value_before(reading_, edit.key));
        out.reserved = needs.reserved;
        out.spare = needs.spare;
        return out;
    }

    const CheckQuestion& question_;
    const Reading& reading_;
    const Device& device_;
    std::vector<Knob> knobs_;
    std::vector<std::vector<const Proposal*>> proposals_;  ///< the steps of each knob
};

}  // namespace

void add_changes(const CheckQuestion& question, const Reading& reading, const Device& device, CheckAnswer& answer) {
    EditSearch(question, reading, device).add_to(answer);
}

}  // namespace vramfit
