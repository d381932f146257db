// The named peaks of one run and what they are made of.
#include "predict/peaks.hpp"

#include <algorithm>
#include <numeric>

#include "predict/held.hpp"

namespace vramfit {

namespace {

/// The first of the peak's windows that requests most, or nullptr.
const WindowLevels* highest_window(const Peak& peak, const Timeline& timeline, const RunShape& run) {
    const WindowLevels* highest = nullptr;
    for (const WindowLevels& window : timeline.windows) {
        if (!peak.covers(window.phase, run)) continue;
        if (!highest || window.peak.requested > highest->peak.requested) highest = &window;
    }
    return highest;
}

}  // namespace

RunShape run_shape(const ModelSpec& model, const TrainPlan& plan) {
    return {static_cast<std::int32_t>(model.num_hidden_layers), plan.load.quantization.has_value()};
}

const PeakResult* highest_of(std::span<const PeakResult> peaks) {
    const PeakResult* highest = nullptr;
    for (const PeakResult& peak : peaks)
        if (!highest || peak.requested > highest->requested) highest = &peak;
    return highest;
}

std::vector<Shares> shares_at(const Program& program, const std::vector<Instant>& instants) {
    std::vector<std::size_t> order(instants.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return instants[a] < instants[b]; });
    std::vector<Shares> found(instants.size());
    Shares now{};
    Held held(program);
    Instant at = 0;
    for (const std::size_t wanted : order) {
        for (; at < instants[wanted] && at < program.events.size(); ++at)
            held.apply(program.events[at], [&now](const Allocation& allocation, std::int64_t bytes) {
                now[static_cast<std::size_t>(allocation.category)] += bytes;
            });
        found[wanted] = now;
    }
    return found;
}

std::vector<PeakResult> find_peaks(const Program& program, const Timeline& timeline, const RunShape& run,
                                   Bytes context) {
    std::vector<PeakResult> results;
    std::vector<Instant> instants;
    for (const Peak* peak : peaks_in_order()) {
        const WindowLevels* window = highest_window(*peak, timeline, run);
        if (!window) continue;
        PeakResult result;
        result.id = peak->id;
        result.name = peak->name;
        result.window = name_of(window->phase);
        result.requested = window->peak.requested;
        result.allocated = window->peak.allocated;
        result.reserved = window->peak.reserved;
        result.process = window->peak.reserved + context.count;
        result.at = window->requested_peak_at;
        instants.push_back(result.at);
        results.push_back(std::move(result));
    }
    const std::vector<Shares> shares = shares_at(program, instants);
    for (std::size_t i = 0; i < results.size(); ++i) results[i].shares = shares[i];
    return results;
}

}  // namespace vramfit
