// Names of measurements and their predicted bytes, as the job schema defines them.
#include "predict/quantities.hpp"

#include <algorithm>
#include <functional>
#include <optional>

#include <fmt/format.h>

namespace vramfit {

namespace {

using Covers = std::function<bool(const Phase&)>;

/// Highest of each level in the windows that are covered; nothing if there are none.
std::optional<Levels> highest(const Timeline& timeline, const Covers& covers) {
    std::optional<Levels> top;
    for (const WindowLevels& window : timeline.windows) {
        if (!covers(window.phase)) continue;
        if (!top) top.emplace();
        top->requested = std::max(top->requested, window.peak.requested);
        top->allocated = std::max(top->allocated, window.peak.allocated);
        top->active = std::max(top->active, window.peak.active);
        top->reserved = std::max(top->reserved, window.peak.reserved);
        top->managed = std::max(top->managed, window.peak.managed);
    }
    return top;
}

bool is_before_training(PhaseKind kind) {
    return kind == PhaseKind::start || kind == PhaseKind::load || kind == PhaseKind::prepare ||
           kind == PhaseKind::adapters;
}

/// Which windows the `*_peak` quantities cover.
Covers covers_of(const PeakWindow& window) {
    switch (window.kind) {
        case PeakWindow::Kind::process: return [](const Phase&) { return true; };
        case PeakWindow::Kind::train: return [](const Phase& phase) { return !is_before_training(phase.kind); };
        case PeakWindow::Kind::steps: break;
    }
    return [&window](const Phase& phase) {
        return std::find(window.steps.begin(), window.steps.end(), phase.step + 1) != window.steps.end();
    };
}

/// The phases of one step, by the names of the job schema.
struct NamedPhase {
    const char* name;
    bool (*covers)(PhaseKind);
};

constexpr NamedPhase kPhases[] = {
    {"phase.forward",
     [](PhaseKind k) { return k == PhaseKind::embedding || k == PhaseKind::forward_layer || k == PhaseKind::head; }},
    {"phase.backward",
     [](PhaseKind k) {
         return k == PhaseKind::backward_loss || k == PhaseKind::backward_layer || k == PhaseKind::backward_embedding;
     }},
    {"phase.optimizer", [](PhaseKind k) { return k == PhaseKind::optimizer; }},
    {"phase.loss_forward", [](PhaseKind k) { return k == PhaseKind::head; }},
    {"phase.loss_backward", [](PhaseKind k) { return k == PhaseKind::backward_loss; }},
    {"phase.layer_backward", [](PhaseKind k) { return k == PhaseKind::backward_layer; }},
};

}  // namespace

std::map<std::string, std::int64_t> quantities_of(const Timeline& timeline, const LoopPlan& loop,
                                                  const Device& device) {
    std::map<std::string, std::int64_t> out;
    if (const auto top = highest(timeline, covers_of(loop.peak_window))) {
        out["requested_peak"] = top->requested;
        out["allocated_peak"] = top->allocated;
        out["active_peak"] = top->active;
        out["reserved_peak"] = top->reserved;
        out["managed_peak"] = top->managed;
        if (device.capacity_known) {
            out["outside_allocator"] = device.context.count;
            out["process_peak"] = top->reserved + device.context.count;
        }
    }
    const auto loading = [](const Phase& p) { return p.kind == PhaseKind::load || p.kind == PhaseKind::prepare; };
    if (const auto top = highest(timeline, loading)) out["phase.load"] = top->allocated;
    const std::int64_t step = loop.phase_step.value_or(loop.steps);
    for (const NamedPhase& phase : kPhases) {
        const auto top = highest(
            timeline, [&](const Phase& p) { return p.step + 1 == step && p.evaluation < 0 && phase.covers(p.kind); });
        if (top) out[phase.name] = top->allocated;
    }
    for (const MarkLevels& mark : timeline.marks) {
        if (asks_for_memory(mark.name)) continue;
        out[mark.name] = mark.now.allocated;
        out[fmt::format("{}.reserved", mark.name)] = mark.now.reserved;
        out[fmt::format("{}.peak", mark.name)] = mark.highest.allocated;
    }
    return out;
}

}  // namespace vramfit
