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

constexpr std::size_t kMostRecorded = 12;  // a search seldom returns to earlier ones
// Of all that are kept: generation of thousands of tokens has tens of millions, at about a hundred bytes each.
constexpr std::size_t kMostEvents = 10'000'000;

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

/// The one place that decides. What runs out of memory on the card as it is assumed to be does not surely fit.
std::optional<Fit> judged(const Program& program, const Job& job, bool& before_training) {
    const Device device = of_process(job.device, job.plan);
    const SureRun sure = surely_fits(program, job.model, job.plan, job.stack, device);
    if (const auto& failed = sure.run.out_of_memory) {
        const PhaseKind kind = sure.run.windows[failed->window].phase.kind;
        before_training = kind == PhaseKind::load || kind == PhaseKind::prepare;
    }
    if (!sure.fits) return std::nullopt;
    return Fit{sure.run.peak.reserved, device.usable.count - sure.run.peak.reserved};
}

}  // namespace

std::optional<Fit> Fits::operator()(const Job& job) {
    const Job loaded = as_loaded(job);
    const auto alike = [&loaded](const Job& other) { return loads_alike(other, loaded); };
    if (std::any_of(too_large_to_load_.begin(), too_large_to_load_.end(), alike)) return std::nullopt;
    try {
        bool before_training = false;
        const auto fit = judged(program(job), job, before_training);
        if (before_training) too_large_to_load_.push_back(loaded);
        return fit;
    } catch (const Error&) {
        return std::nullopt;
    }
}

std::optional<std::int64_t> Fits::requested(const Job& job) {
    try {
        return most_requested(program(job));
    } catch (const Error&) {
        return std::nullopt;
    }
}

const Program& Fits::program(const Job& job) {
    // Which process of several is looked at depends on the allocator.
    const bool several = job.plan.distributed && job.plan.distributed->any_rank;
    const std::string alloc_conf = several ? job.device.alloc_conf : std::string();
    for (const Recorded& known : recorded_)
        if (known.plan == job.plan && known.stack == job.stack && known.alloc_conf == alloc_conf) return known.program;
    if (recorded_.size() == kMostRecorded) recorded_.pop_front();
    Program made = program_of(job);
    std::size_t events = made.events.size();
    events_ += events;
    for (const Recorded& kept : recorded_) events += kept.program.events.size();
    for (; events > kMostEvents && !recorded_.empty(); recorded_.pop_front())
        events -= recorded_.front().program.events.size();
    recorded_.push_back({job.plan, job.stack, alloc_conf, std::move(made)});
    return recorded_.back().program;
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

Fit need_of(const Job& job) {
    const Device device = of_process(job.device, job.plan);
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
