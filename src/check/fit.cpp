// One replay of the program decides; names of peaks are not asked for.
#include "check/fit.hpp"

#include <algorithm>
#include <utility>

#include "predict/ends.hpp"
#include "vramfit/base/error.hpp"
#include "vramfit/predict/allocator.hpp"
#include "vramfit/predict/predict.hpp"
#include "vramfit/spec/devices.hpp"

namespace vramfit {

namespace {

/// The job with all that only the training depends on at its default: two that are equal load in the same way.
Job as_loaded(const Job& job) {
    Job out;
    out.plan.load = job.plan.load;
    out.plan.prepare_kbit = job.plan.prepare_kbit;
    out.plan.peft = job.plan.peft;
    if (out.plan.peft) out.plan.peft->r = 0;
    out.plan.loop.kind = job.plan.loop.kind;
    out.plan.distributed = job.plan.distributed;
    out.device.alloc_conf = job.device.alloc_conf;
    return out;
}

bool loads_alike(const Job& a, const Job& b) { return a.plan == b.plan && a.device.alloc_conf == b.device.alloc_conf; }

/// The replay on the card as it is assumed to be; or on one that has the least that is not ruled out, where that one
/// runs out of memory as well or the other would do the same. Most that is tried fits neither or does not come near.
Timeline replay_for_verdict(const Program& program, const Job& job, const Device& device) {
    const ReplayOptions options = allocator_of(job.stack, device);
    ReplayOptions worst = options;
    worst.capacity = device.usable - at_worst(device.assumptions);
    if (worst.capacity->count <= 0 || !ignores_capacity(options)) return replay(program, options);
    Timeline run = replay(program, worst);
    const bool same = run.retries == 0 && options.settings.max_split_size == kNoSplitLimit;
    return run.out_of_memory || same ? run : replay(program, options);
}

/// The one place that decides. What runs out of memory on the card as it is assumed to be does not surely fit.
std::optional<Fit> judged(const Program& program, const Job& job, bool& before_training) {
    const Device device = of_process(job.device, job.plan.distributed);
    Timeline run = replay_for_verdict(program, job, device);
    if (run.out_of_memory) {
        const PhaseKind kind = run.windows[run.out_of_memory->window].phase.kind;
        before_training = kind == PhaseKind::load || kind == PhaseKind::prepare;
        return std::nullopt;
    }
    const std::int64_t reserved = run.peak.reserved;
    const Judged judged = judge_program(program, job.model, job.plan, job.stack, device, std::move(run));
    if (judged.ends.verdict() != Verdict::fits) return std::nullopt;
    return Fit{reserved, device.usable.count - reserved};
}

}  // namespace

std::optional<Fit> Fits::operator()(const Job& job) {
    const Job loaded = as_loaded(job);
    const auto alike = [&loaded](const Job& other) { return loads_alike(other, loaded); };
    if (std::any_of(too_large_to_load_.begin(), too_large_to_load_.end(), alike)) return std::nullopt;
    try {
        bool before_training = false;
        const auto fit = judged(program_of(job), job, before_training);
        if (before_training) too_large_to_load_.push_back(loaded);
        return fit;
    } catch (const Error&) {
        return std::nullopt;
    }
}

std::optional<Fit> fit_of(const Program& program, const Job& job) {
    bool before_training = false;
    return judged(program, job, before_training);
}

std::optional<Fit> fit_of(const Job& job) {
    try {
        return fit_of(program_of(job), job);
    } catch (const Error&) {
        return std::nullopt;
    }
}

std::optional<std::int64_t> requested_of(const Job& job) {
    try {
        std::int64_t highest = 0;
        for (const RequestedWindow& window : requested_peaks(program_of(job))) highest = std::max(highest, window.peak);
        return highest;
    } catch (const Error&) {
        return std::nullopt;
    }
}

Fit need_of(const Job& job) {
    const Device device = of_process(job.device, job.plan.distributed);
    ReplayOptions allocator = allocator_of(job);
    allocator.capacity.reset();
    allocator.device_total.reset();
    allocator.memory_fraction.reset();
    allocator.settings.memory_fraction = 1.0;
    const Timeline run = replay(program_of(job), allocator);
    return {run.peak.reserved, device.usable.count - run.peak.reserved};
}

namespace {

/// The card in place of the job's own.
Job on_card(Job job, const KnownDevice& known) {
    Device device = with_reserve(device_from(known.name), job.device.reserve);
    device.alloc_conf = job.device.alloc_conf;
    device.cublas_workspace_config = job.device.cublas_workspace_config;
    device.cublaslt_workspace_size = job.device.cublaslt_workspace_size;
    job.device = std::move(device);
    return job;
}

}  // namespace

std::string smallest_card(std::int64_t need, const Job& job) {
    std::vector<const KnownDevice*> cards;
    for (const KnownDevice& known : known_devices())
        if (known.total.count > need) cards.push_back(&known);
    std::stable_sort(cards.begin(), cards.end(),
                     [](const KnownDevice* a, const KnownDevice* b) { return a->total < b->total; });
    std::int64_t asked = 0;
    for (const KnownDevice* card : cards) {
        if (card->total.count == asked) continue;  // one of each size
        asked = card->total.count;
        try {
            if (fit_of(on_card(job, *card))) return card->name;
        } catch (const Error&) {  // a card on which the run cannot be
        }
    }
    return {};
}

}  // namespace vramfit
