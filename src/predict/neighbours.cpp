// The next larger batch and length: how far a run that fits is from not fitting.
#include "vramfit/base/error.hpp"
#include "vramfit/predict/predict.hpp"

namespace vramfit {

namespace {

// Rows are compared in steps of this many tokens; lengths are mostly chosen so.
constexpr std::int64_t kTokens = 128;

void add(const Job& job, const char* flag, std::int64_t value, std::vector<Neighbour>& out) {
    try {
        const Prediction p = predict(job.model, job.plan, job.stack, job.device);
        out.push_back({flag, value, p.verdict, p.peak, p.device.usable.count - p.peak.reserved});
    } catch (const Error&) {  // more positions than the network has, for instance
    }
}

}  // namespace

std::vector<Neighbour> next_larger(const Job& job) {
    std::vector<Neighbour> out;
    if (!job.device.capacity_known) return out;
    Job rows = job;
    add(rows, "--batch", ++rows.plan.training.per_device_train_batch_size, out);
    Job tokens = job;
    std::int64_t& length = tokens.plan.batch.sequence_length;
    length = (length / kTokens + 1) * kTokens;
    add(tokens, "--seq", length, out);
    return out;
}

}  // namespace vramfit
