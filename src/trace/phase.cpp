// The names of windows in timelines.
#include "vramfit/trace/phase.hpp"

#include <fmt/format.h>

#include <iterator>

namespace vramfit {

namespace {

const char* base_name(PhaseKind kind) {
    switch (kind) {
        case PhaseKind::start: return "start";
        case PhaseKind::load: return "load";
        case PhaseKind::prepare: return "prepare";
        case PhaseKind::adapters: return "adapters";
        case PhaseKind::trainer: return "trainer";
        case PhaseKind::batch: return "batch";
        case PhaseKind::inputs: return "inputs";
        case PhaseKind::embedding: return "embedding";
        case PhaseKind::forward_layer: return "forward";
        case PhaseKind::head: return "head";
        case PhaseKind::backward_loss: return "backward.loss";
        case PhaseKind::backward_layer: return "backward";
        case PhaseKind::backward_embedding: return "backward.embedding";
        case PhaseKind::clip: return "clip";
        case PhaseKind::optimizer: return "optimizer";
        case PhaseKind::zero_grad: return "zero_grad";
        case PhaseKind::train_end: return "train_end";
        case PhaseKind::load_reference: return "load_reference";
        case PhaseKind::precompute_reference: return "precompute_reference";
        case PhaseKind::reference_forward: return "reference_forward";
        case PhaseKind::kl_forward: return "kl_forward";
        case PhaseKind::loss: return "loss";
        case PhaseKind::generation: return "generation";
        case PhaseKind::reward: return "reward";
        case PhaseKind::load_reward: return "load_reward";
        case PhaseKind::load_teacher: return "load_teacher";
        case PhaseKind::teacher_forward: return "teacher_forward";
        case PhaseKind::log_probabilities: return "log_probabilities";
        case PhaseKind::load_value: return "load_value";
        case PhaseKind::value_forward: return "value_forward";
        case PhaseKind::backward_value: return "backward.value";
        case PhaseKind::metrics: return "metrics";
    }
    return "unknown";
}

bool has_layer(PhaseKind kind) { return kind == PhaseKind::forward_layer || kind == PhaseKind::backward_layer; }

}  // namespace

std::string name_of(const Phase& phase) {
    std::string name;
    const auto out = std::back_inserter(name);
    if (phase.step >= 0) fmt::format_to(out, "step{}.", phase.step);
    if (phase.micro >= 0) fmt::format_to(out, "micro{}.", phase.micro);
    if (phase.evaluation >= 0) fmt::format_to(out, "evaluation{}.", phase.evaluation);
    fmt::format_to(out, "{}", base_name(phase.kind));
    if (has_layer(phase.kind)) fmt::format_to(out, ".{}", phase.layer);
    return name;
}

}  // namespace vramfit
