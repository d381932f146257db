// A network beside the one that is trained, which is only evaluated: loaded, placed, run.
#pragma once

#include <deque>
#include <memory>
#include <optional>

#include "model/causal_lm/causal_lm.hpp"

namespace vramfit::model {

/// One of them, with what it was loaded by, which outlives it.
struct EvaluatedNetwork {
    std::unique_ptr<ModelSpec> spec;
    std::unique_ptr<TrainPlan> plan;
    std::unique_ptr<Network> network;

    /// The run on it, on rows of its own.
    Run on(const Run& run, const RunSizes& sizes) const {
        return {run.session, *spec, *plan, run.stack, sizes, nullptr, nullptr};
    }
};

/// Those of a run. They stay until its end.
struct EvaluatedNetworks {
    std::deque<EvaluatedNetwork> reward_models;  ///< in the order of the plan
    std::optional<EvaluatedNetwork> teacher;
    std::optional<EvaluatedNetwork> value_model;  ///< which is trained
    bool are_loaded = false;                      ///< as far as the script loads them
};

/// Once: what the script loads onto the card before it makes the trainer. Windows of their own, behind which `trainer`
/// goes on.
void load_evaluated_networks(const Run& run);

/// accelerator.prepare_model(evaluation_mode=True) in the trainer's constructor: what was loaded in host memory comes
/// onto the card. Each has its window, behind which `trainer` goes on.
void place_evaluated_networks(const Run& run);

/// The same of the value model, whose wrapper accelerate prepares.
void place_value_model(const Run& run);

/// The model's forward as accelerate prepares it, in evaluation and without gradients: `forward` gives what is turned
/// to float32 under autocast.
template <class Forward>
auto evaluated(const Run& run, const EvaluatedNetwork& second, const RunSizes& sizes, const Forward& forward) {
    const engine::Scoped<bool> evaluates(run.session.training, false);
    const engine::GradMode no_grad(run.session, false);
    const Run asked = second.on(run, sizes);
    return forward(asked, *second.network);
}

}  // namespace vramfit::model
