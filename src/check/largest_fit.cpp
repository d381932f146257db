// The largest batch and the longest rows: what they request is a formula of the path, which leaves few replays.
#include <algorithm>
#include <deque>
#include <functional>
#include <optional>

#include "check/fit.hpp"
#include "model/record.hpp"
#include "predict/most_rows.hpp"
#include "predict/predict_recorded.hpp"
#include "predict/unsloth_on_card.hpp"
#include "vramfit/base/error.hpp"
#include "vramfit/check/plan_changes.hpp"
#include "vramfit/predict/predict.hpp"
#include "vramfit/spec/devices.hpp"
#include "vramfit/spec/lengths.hpp"
#include "vramfit/spec/plan_check.hpp"

namespace vramfit {

namespace {

// Rows are compared in steps of this many tokens; lengths are mostly chosen so.
constexpr std::int64_t kTokensOfStep = 128;
// What a batch can be at most, and what a row of a model without a limit.
constexpr std::int64_t kLargest = 1 << 16;

/// What tensors of a process have at the worst end of what is not known of the card: what requests more does not fit.
std::int64_t surely_usable(const Job& job) {
    const Device device = of_process(job.device, job.plan);
    return device.usable.count - at_worst(device.assumptions).count;
}

/// The runs of a job along one of its sizes.
class Along {
  public:
    using Set = std::function<void(TrainPlan&, std::int64_t)>;

    Along(const Job& job, Set set, model::FormulaAxes axes)
        : job_(job),
          set_(std::move(set)),
          axes_(axes),
          largest_(std::max(axes.batch.low < axes.batch.high ? axes.batch.high : 0,
                            axes.length.low < axes.length.high ? axes.length.high : 0)),
          least_(axes.batch.low < axes.batch.high ? axes.batch.low : axes.length.low),
          capacity_(surely_usable(job_)),
          checker_(job_.model, job_.stack) {}

    /// The most steps of `unit` that fit: what requests too much needs no replay. A loop that takes less where little
    /// is free may fit again beyond rows that do not: then it is looked from the job's own size on.
    std::int64_t most(std::int64_t start, std::int64_t unit) {
        const auto is_within = [&](std::int64_t n) { return path_of(n * unit) && needs(n * unit) <= capacity_; };
        const auto fits_there = [&](std::int64_t n) { return fits(n * unit); };
        std::int64_t most = most_rows(guess(start, unit), is_within);
        if (most > 0) most = most_rows(most, [&](std::int64_t n) { return is_within(n) && fits_there(n); });
        if (most >= start || !asks_card(job_.plan, job_.device) || !fits_there(start)) return most;
        return most_rows(start, fits_there);
    }

    /// The program of the run of that size, from the recording of its path.
    std::optional<Program> program(std::int64_t value) {
        Path* const path = value < least_ ? nullptr : path_of(value);
        if (!path) return std::nullopt;
        return path->recorded.program.at(std::span(&value, 1));
    }

  private:
    struct Path {
        model::FormulaAndProgram recorded;
        Formula::Row row;
    };

    /// Where to begin to look: what the job's own path requests says beyond its sizes roughly where the card ends, and
    /// each path that is not asked about is a recording less.
    std::int64_t guess(std::int64_t start, std::int64_t unit) {
        Path* const path = path_of(start * unit);
        if (!path) return start;
        return std::max<std::int64_t>(1, most_rows(start, [&](std::int64_t n) {
                                          const std::int64_t value = n * unit;
                                          if (value > largest_) return false;
                                          path->recorded.formula.begin(path->row, std::span(&value, 1));
                                          return path->recorded.formula.highest(path->row).requested <= capacity_;
                                      }));
    }

    TrainPlan plan_at(std::int64_t value) const {
        TrainPlan plan = job_.plan;
        set_(plan, value);
        return plan;
    }

    /// The path that the run takes; null: there is no such run.
    Path* path_of(std::int64_t value) {
        if (value > largest_) return nullptr;
        const TrainPlan plan = plan_at(value);
        try {
            checker_.check(plan);
            for (Path& path : paths_) {
                path.recorded.formula.begin(path.row, std::span(&value, 1));
                if (path.recorded.formula.covers(path.row)) return &path;
            }
            paths_.push_back({model::formulate_with_program(job_.model, plan, job_.stack, job_.device, axes_), {}});
        } catch (const Error&) {
            return nullptr;
        }
        Path& path = paths_.back();
        path.recorded.formula.begin(path.row, std::span(&value, 1));
        return &path;
    }

    std::int64_t needs(std::int64_t value) {
        Path& path = *path_of(value);
        return path.recorded.formula.highest(path.row).requested;
    }

    bool fits(std::int64_t value) {
        Path* const path = path_of(value);
        if (!path) return false;
        Job at = job_;  // what is assumed of a run depends on its size too
        at.plan = plan_at(value);
        return fit_of(path->recorded.program.at(std::span(&value, 1)), at).has_value();
    }

    Job job_;  ///< functions of the paths ask its device
    Set set_;
    model::FormulaAxes axes_;
    std::int64_t largest_;
    std::int64_t least_;
    std::int64_t capacity_;
    PlanChecker checker_;
    std::deque<Path> paths_;
};

std::int64_t rank_of(const Job& job) { return job.plan.peft ? job.plan.peft->r : 0; }

/// One recording for each process: every size is asked about by itself.
bool is_of_several(const Job& job) { return job.plan.distributed && job.plan.distributed->any_rank; }

std::int64_t most_one_by_one(Job job, const Along::Set& set, std::int64_t start, std::int64_t unit) {
    return most_rows(start, [&](std::int64_t n) {
        set(job.plan, n * unit);
        return fit_of(job).has_value();
    });
}

void set_rows(TrainPlan& plan, std::int64_t rows) { plan.training.per_device_train_batch_size = rows; }
void set_tokens(TrainPlan& plan, std::int64_t tokens) { plan.batch.sequence_length = tokens; }

/// The longest rows that the model has positions for, in steps.
std::int64_t most_positions(const Job& job) {
    return job.model.max_position_embeddings / kTokensOfStep * kTokensOfStep;
}

/// Batches of the job's rows. A batch of one takes a path of its own: dimensions of one element lie as any stride says.
Along along_batches(const Job& job) {
    const std::int64_t tokens = job.plan.batch.sequence_length;
    return {job, set_rows, {{2, kLargest}, {tokens, tokens}, {rank_of(job), rank_of(job)}}};
}

Along along_lengths(const Job& job) {
    const std::int64_t rows = job.plan.training.per_device_train_batch_size;
    return {job, set_tokens, {{rows, rows}, {kTokensOfStep, most_positions(job)}, {rank_of(job), rank_of(job)}}};
}

std::int64_t most_batch(const Job& job, Along& batches) {
    const std::int64_t start = std::max<std::int64_t>(job.plan.training.per_device_train_batch_size, 2);
    if (is_of_several(job)) return most_one_by_one(job, set_rows, start, 1);
    const std::int64_t most = batches.most(start, 1);
    if (most > 1) return most;
    Job one = job;
    set_rows(one.plan, 1);
    return fit_of(one) ? 1 : 0;
}

std::int64_t most_tokens(const Job& job, Along& lengths) {
    const std::int64_t most = most_positions(job);
    if (most < 2 * kTokensOfStep) return 0;
    const std::int64_t start = std::clamp(job.plan.batch.sequence_length, kTokensOfStep, most) / kTokensOfStep;
    if (is_of_several(job)) return most_one_by_one(job, set_tokens, start, kTokensOfStep) * kTokensOfStep;
    return lengths.most(start, kTokensOfStep) * kTokensOfStep;
}

LargestFit largest_fit(const Job& job, Along& batches, Along& lengths) {
    LargestFit out;
    out.batch = most_batch(job, batches);
    out.seq = most_tokens(job, lengths);
    out.seq_is_all = out.seq > 0 && out.seq + kTokensOfStep > job.model.max_position_embeddings;
    return out;
}

}  // namespace

LargestFit largest_fit(const Job& job) {
    Along batches = along_batches(job), lengths = along_lengths(job);
    return largest_fit(job, batches, lengths);
}

Prediction predict_with_largest_fit(const Job& job) {
    if (may_generate(job.plan.loop.kind) || !job.plan.batch.lengths.empty()) return predict(job);
    if (lengths_are_apart(job.model, job.plan)) return predict_with_next_larger(job);
    if (!job.device.capacity_known || job.plan.distributed) {
        Prediction out = predict_with_next_larger(job);
        if (job.device.capacity_known && out.verdict == Verdict::fits) out.largest = largest_fit(job);
        return out;
    }
    Along batches = along_batches(job), lengths = along_lengths(job);
    const std::int64_t rows = job.plan.training.per_device_train_batch_size;
    const auto record = [&](const ModelSpec& model, const TrainPlan& plan, const Stack& stack, const Device& device) {
        const std::int64_t asked = plan.training.per_device_train_batch_size;
        auto program = asked == rows ? lengths.program(plan.batch.sequence_length) : batches.program(asked);
        return program ? std::move(*program) : model::record(model, plan, stack, device);
    };
    Prediction out = predict_with_next_larger(job, record);
    if (out.verdict == Verdict::fits) out.largest = largest_fit(job, batches, lengths);
    return out;
}

}  // namespace vramfit
