// The next larger batch and length: how far a run that fits is from not fitting.
#include <functional>
#include <optional>

#include "model/record.hpp"
#include "predict/predict_recorded.hpp"
#include "vramfit/base/error.hpp"
#include "vramfit/predict/predict.hpp"
#include "vramfit/spec/lengths.hpp"

namespace vramfit {

namespace {

// Rows are compared in steps of this many tokens; lengths are mostly chosen so.
constexpr std::int64_t kTokens = 128;

/// Records a job, and its neighbours from the same recording where they take the same path.
class SharedRecording {
  public:
    SharedRecording(const TrainPlan& plan, const TrainPlan& larger, const TrainPlan& longer)
        : axes_(axes_between(plan, larger, longer)) {}

    Program operator()(const ModelSpec& model, const TrainPlan& plan, const Stack& stack, const Device& device) {
        if (!path_) {
            device_ = device;
            path_.emplace(model::record_template(model, plan, stack, device_, axes_));
        }
        const std::int64_t batch = plan.training.per_device_train_batch_size;
        const model::AxisValues row = model::values_on(axes_, batch, plan.batch.sequence_length, std::nullopt);
        const bool inside = batch <= axes_.batch.high;
        return inside && path_->covers(row.all()) ? path_->at(row.all()) : model::record(model, plan, stack, device);
    }

  private:
    // A batch of one takes a path of its own: dimensions of one element lie as any stride says.
    static model::FormulaAxes axes_between(const TrainPlan& plan, const TrainPlan& larger, const TrainPlan& longer) {
        const std::int64_t batch = plan.training.per_device_train_batch_size;
        const std::int64_t rank = plan.peft ? plan.peft->r : 0;
        return {{batch, batch == 1 ? 1 : larger.training.per_device_train_batch_size},
                {plan.batch.sequence_length, longer.batch.sequence_length},
                {rank, rank}};
    }

    model::FormulaAxes axes_;
    Device device_;  ///< that the path's functions ask
    std::optional<ProgramTemplate> path_;
};

using Judge = std::function<Judgement(const TrainPlan&)>;

void add(const TrainPlan& plan, const Judge& judge, const char* flag, std::int64_t value, std::vector<Neighbour>& out) {
    try {
        const Judgement judged = judge(plan);
        const std::int64_t reserved = judged.peak.reserved;
        out.push_back({flag, value, judged.verdict(), judged.peak, judged.device.usable.count - reserved});
    } catch (const Error&) {  // more positions than the network has, for instance
    }
}

struct NextLarger {
    TrainPlan larger, longer;
};

NextLarger next_larger_of(const TrainPlan& plan) {
    NextLarger next{plan, plan};
    ++next.larger.training.per_device_train_batch_size;
    next.longer.batch.sequence_length = (plan.batch.sequence_length / kTokens + 1) * kTokens;
    return next;
}

/// `out` is what is predicted of the job.
Prediction with_next_larger(const Job& job, Prediction out, const NextLarger& next, const Judge& judge) {
    out.notes.insert(out.notes.begin(), job.notes.begin(), job.notes.end());
    if (out.verdict != Verdict::fits) return out;
    add(next.larger, judge, "--batch", next.larger.training.per_device_train_batch_size, out.next_larger);
    add(next.longer, judge, "--seq", next.longer.batch.sequence_length, out.next_larger);
    return out;
}

}  // namespace

Prediction predict_with_next_larger(const Job& job, const Record& record) {
    return with_next_larger(
        job, predict_recorded(job.model, job.plan, job.stack, job.device, record), next_larger_of(job.plan),
        [&](const TrainPlan& plan) { return judge_recorded(job.model, plan, job.stack, job.device, record); });
}

Prediction predict_with_next_larger(const Job& job) {
    if (!job.device.capacity_known || !job.plan.batch.lengths.empty()) return predict(job);
    const NextLarger next = next_larger_of(job.plan);
    const bool of_several = job.plan.distributed && job.plan.distributed->any_rank;  // one recording for each process
    if (of_several || lengths_are_apart(job.model, job.plan))
        return with_next_larger(job, predict(job.model, job.plan, job.stack, job.device), next,
                                [&](const TrainPlan& plan) {
                                    return judge(Job{job.model, plan, job.stack, job.device, {}});
                                });
    SharedRecording shared(job.plan, next.larger, next.longer);
    return predict_with_next_larger(job, std::ref(shared));
}

}  // namespace vramfit
