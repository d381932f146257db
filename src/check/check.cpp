// Reads, predicts on each card, and prices changes by predicting again.
#include "vramfit/check/check.hpp"

#include <algorithm>
#include <optional>
#include <set>

#include <fmt/format.h>

#include "check/changes.hpp"
#include "vramfit/base/checked.hpp"
#include "vramfit/base/error.hpp"
#include "vramfit/predict/predict.hpp"
#include "vramfit/spec/stacks.hpp"

namespace vramfit {

namespace {

// torch.cuda.is_bf16_supported: in hardware from capability 8.0.
bool computes_bf16(const Device& device) { return device.capability >= Capability{8, 0}; }

/// What the plan's checks and the recording refuse stands in terms of the plan; the reader of a file wants its key.
void refuse_in_file(Reading& reading, const Error& error) {
    for (const Problem& problem : error.problems()) {
        const Input* input = reading.input(problem.where);
        if (input && input->source != InputSource::derived)
            reading.refusals.push_back({input->key, input->place, problem.what, problem.hint});
        else if (input)
            reading.refusals.push_back(
                {problem.where, input->place, fmt::format("{} ({})", problem.what, input->key), problem.hint});
        else
            reading.refusals.push_back({problem.where, {reading.trainer_file, {}}, problem.what, problem.hint});
    }
}

/// The same for what the libraries themselves would refuse.
[[noreturn]] void throw_in_file(const Reading& reading, const Error& error) {
    std::vector<Problem> problems;
    for (const Problem& problem : error.problems()) {
        const Input* input = reading.input(problem.where);
        std::string where = input ? input->key : problem.where;
        if (input && !input->place.file.empty()) where = text_of(input->place) + " " + where;
        problems.push_back({std::move(where), problem.what, problem.hint});
    }
    throw Error(ErrorKind::invalid, std::move(problems));
}

std::string second_highest(const Prediction& p) {
    const PeakResult* second = nullptr;
    for (const PeakResult& peak : p.peaks)
        if (peak.name != p.highest && (!second || peak.requested > second->requested)) second = &peak;
    return second ? second->name : std::string();
}

/// The longest row that fits, of those that were given.
void find_wall(const Reading& reading, const CheckQuestion& question, CheckAnswer& answer) {
    if (question.trainer.lengths.empty() || reading.rows.fixed) return;
    std::vector<std::int64_t> given = question.trainer.lengths;
    for (std::int64_t& length : given)
        if (reading.rows.limit > 0) length = std::min(length, reading.rows.limit);
    const std::set<std::int64_t> different(given.begin(), given.end());
    const std::vector<std::int64_t> lengths(different.begin(), different.end());
    Job job = reading.job;
    job.device = answer.prediction.device;
    const auto too_long = std::partition_point(lengths.begin(), lengths.end(), [&](std::int64_t length) {
        job.plan.batch.sequence_length = round_up(length, reading.rows.multiple);
        return predict(job).verdict == Verdict::fits;
    });
    answer.wall = too_long == lengths.begin() ? 0 : *(too_long - 1);
    answer.rows_beyond_wall =
        std::count_if(given.begin(), given.end(), [&](std::int64_t length) { return length > *answer.wall; });
}

/// Where another program runs than the one predicted, which needs no more, nothing is too large: what fits for certain
/// fits, of the rest only the bound is known.
void bound(const Reading& reading, Prediction& p) {
    const bool is_bound = std::any_of(p.notes.begin(), p.notes.end(),
                                      [](const Note& note) { return note.kind == NoteKind::upper_bound; });
    if ((reading.upper_bound() || is_bound) && p.verdict == Verdict::too_large) p.verdict = Verdict::unknown;
}

/// Of the verdicts on two cards the one that the exit status tells.
Verdict worse(Verdict a, Verdict b) {
    constexpr Verdict kRising[] = {Verdict::not_asked, Verdict::fits, Verdict::tight, Verdict::too_large,
                                   Verdict::unknown};
    const auto rank = [&](Verdict of) { return std::find(std::begin(kRising), std::end(kRising), of); };
    return rank(a) < rank(b) ? b : a;
}

/// The answer for one card. Throws Error.
CheckAnswer answer_on(const Reading& reading, const Device& device) {
    Job job = reading.job;
    job.device = device;
    CheckAnswer answer;
    answer.prediction = predict(job);
    answer.runner_up = second_highest(answer.prediction);
    if (device.capacity_known) answer.spare = answer.prediction.device.usable.count - answer.prediction.peak.reserved;
    return answer;
}

/// The answer for one card. What the trainer's own program was not compared with on this card is answered by its bound:
/// `question` and `reading` are then those of the bound.
CheckAnswer answer_or_bound(CheckQuestion& question, Reading& reading, const Device& device) {
    const bool is_own = reading.job.plan.loop.kind == LoopKind::unsloth;
    try {
        return answer_on(reading, device);
    } catch (const Error& error) {
        if (error.kind() != ErrorKind::unsupported || !is_own) throw;
        question.trainer.bound_because = error.problems().front().what;
    }
    reading = read_trainer_files(question.trainer);
    return answer_on(reading, device);
}

/// What was not compared with the trainer's own releases is answered with the default stack, and the answer says so.
std::optional<CheckResult> with_default_stack(const CheckQuestion& question, const Reading& own) {
    CheckQuestion other = question;
    other.trainer.stack = stack_from("").stack;
    if (own.job.stack.name == other.trainer.stack.name) return std::nullopt;
    try {
        CheckResult result = check(other);
        for (Input& input : result.reading.inputs)
            if (input.field == "stack") input = {input.field, input.value, InputSource::trainer_default, "", {}};
        // What bars both is all there is to say.
        if (result.refused())
            return result.reading.refusals.size() < own.refusals.size() ? std::optional(std::move(result))
                                                                        : std::nullopt;
        result.reading.notes.push_back(
            {RemarkKind::odd_value,
             fmt::format("stack {} instead of the trainer's {}, with which this run is refused: {}",
                         other.trainer.stack.name, own.job.stack.name, own.refusals.front().what),
             "the trainer's own releases may need more or less: measure such a run"});
        return result;
    } catch (const Error&) {
        return std::nullopt;  // the refusal says more
    }
}

}  // namespace

CheckResult check(const CheckQuestion& question) {
    CheckResult result;
    result.looked_for_changes = question.price_changes;
    for (const Device& device : question.devices) {
        CheckQuestion here = question;
        here.trainer.bf16_card = computes_bf16(device);
        Reading reading = read_trainer_files(here.trainer);
        if (reading.refusals.empty()) {
            try {
                CheckAnswer answer = answer_or_bound(here, reading, device);
                bound(reading, answer.prediction);
                result.verdict = worse(result.verdict, answer.prediction.verdict);
                if (!answer.fits()) {
                    find_wall(reading, here, answer);
                    if (question.price_changes) add_changes(here, reading, device, answer);
                }
                result.answers.push_back(std::move(answer));
            } catch (const Error& error) {
                if (error.kind() == ErrorKind::invalid) throw_in_file(reading, error);
                refuse_in_file(reading, error);
            }
        }
        const bool refused = !reading.refusals.empty();
        if (refused || result.reading.files.empty()) result.reading = std::move(reading);
        if (refused) {
            result.answers.clear();
            break;
        }
    }
    if (question.trainer.stack.name.empty() && result.refused())
        if (std::optional<CheckResult> other = with_default_stack(question, result.reading)) return std::move(*other);
    return result;
}

}  // namespace vramfit
