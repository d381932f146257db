// The next larger batch and length: how far a run that fits is from not fitting.
#include <functional>
#include <optional>

#include "model/record.hpp"
#include "predict/predict_recorded.hpp"
#include "vramfit/base/error.hpp"
#include "vramfit/predict/predict.hpp"

namespace vramfit {

namespace {

// Rows are compared in steps of this many tokens; lengths are mostly chosen so.
constexpr std::int64_t kTokens = 128;

std::int64_t& batch_of(TrainPlan& plan) { return plan.training.per_device_train_batch_size; }
std::int64_t& length_of(TrainPlan& plan) { return plan.batch.sequence_length; }

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

using Ask = std::function<Prediction(const TrainPlan&)>;

void add(const TrainPlan& plan, const Ask& ask, const char* flag, std::int64_t value, std::vector<Neighbour>& out) {
    try {
        const Prediction p = ask(plan);
        out.push_back({flag, value, p.verdict, p.peak, p.device.usable.count - p.peak.reserved});
    } catch (const Error&) {  // more positions than the network has, for instance
    }
}

}  // namespace

Prediction predict_with_next_larger(const Job& job) {
    if (!job.device.capacity_known) return predict(job);
    TrainPlan larger = job.plan;
    ++batch_of(larger);
    TrainPlan longer = job.plan;
    length_of(longer) = (length_of(longer) / kTokens + 1) * kTokens;
    SharedRecording shared(job.plan, larger, longer);
    const Record record = std::ref(shared);
    const bool any_rank = job.plan.distributed && job.plan.distributed->any_rank;  // one recording for each process
    const Ask ask = [&](const TrainPlan& plan) {
        return any_rank ? predict(job.model, plan, job.stack, job.device)
                        : predict_recorded(job.model, plan, job.stack, job.device, record);
    };
    Prediction out = ask(job.plan);
    out.notes.insert(out.notes.begin(), job.notes.begin(), job.notes.end());
    if (out.verdict != Verdict::fits) return out;
    add(larger, ask, "--batch", batch_of(larger), out.next_larger);
    add(longer, ask, "--seq", length_of(longer), out.next_larger);
    return out;
}

}  // namespace vramfit
