// The reference of preference training: a model of its own, or the policy without its adapters.
#pragma once

#include <memory>
#include <optional>

#include "model/causal_lm/causal_lm.hpp"
#include "model/parallel/fsdp2/reference.hpp"
#include "model/parallel/zero/stage3_reference.hpp"
#include "model/recorded/model.hpp"

namespace vramfit::model {

/// What scores are compared with.
struct Reference {
    /// What it was loaded with; outlives the network.
    std::unique_ptr<TrainPlan> plan;
    std::unique_ptr<Network> network;         ///< none: the policy's own, or precomputed
    std::unique_ptr<RecordedModel> recorded;  ///< of a recorded network, with this one's modules
    std::unique_ptr<Fsdp2Reference> shards;   ///< what FSDP2 cuts of it
    std::unique_ptr<Zero3Reference> pieces;   ///< the same of ZeRO-3
};

/// ms-swift loads the reference of full fine-tuning before the policy; other trainers nothing.
Reference load_before_policy(const Run& run);

/// axolotl loads one behind the policy and as it, where the plan says so.
Reference load_behind_policy(const Run& run);

/// The trainer's constructor behind Trainer's: loads a reference where one is needed.
Reference make_reference(const Run& run, Network& policy);

/// A phase of the library's own: nothing in it opens a window; what is made in it is no loss of the policy's.
class WithinPhase {
  public:
    WithinPhase(engine::Session& session, const Phase& phase);
    ~WithinPhase();
    WithinPhase(const WithinPhase&) = delete;
    WithinPhase& operator=(const WithinPhase&) = delete;

  private:
    engine::Session& session_;
};

/// peft's disable_adapter for a scope: layers are their base layers, modules that are saved whole the original ones.
class WithoutAdapters {
  public:
    explicit WithoutAdapters(Network& network);
    ~WithoutAdapters();
    WithoutAdapters(const WithoutAdapters&) = delete;
    WithoutAdapters& operator=(const WithoutAdapters&) = delete;

  private:
    void exchange();

    Network& network_;
    std::vector<std::vector<std::optional<ParameterAdapter>>> bare_;
};

/// How the reference model is run: with its own dtype and attention.
TrainPlan plan_of_reference(const Run& run, const Reference& reference);

/// The run with a plan, of a recorded network with the reference's own modules.
Run run_of_reference(const Run& run, const Reference& reference, const TrainPlan& plan);

/// Up to transformers 4 the config says whether keys and values are kept, but not in a policy that checkpoints its
/// layers, also without gradients (modeling_layers.py GradientCheckpointingLayer).
ModelSpec spec_without_adapters(const Run& run, const Network& policy);

/// Calls `forward` with the run on the reference, without gradients and without checkpointing: on its own network in
/// evaluation, or on the policy with its adapters off.
template <class Forward>
auto on_reference(const Run& run, Network& policy, const Reference& reference, const Forward& forward) {
    const engine::GradMode no_grad(run.session, false);
    if (reference.network) {
        const engine::Scoped<bool> evaluates(run.session.training, false);
        const engine::Scoped<engine::ModuleHooks*> hooks(run.session.module_hooks, reference.pieces.get());
        const TrainPlan plan = plan_of_reference(run, reference);
        const Run asked = run_of_reference(run, reference, plan);
        return forward(asked, *reference.network);
    }
    const ModelSpec spec = spec_without_adapters(run, policy);
    const Run asked = run.with(spec);
    const engine::Scoped<Checkpointing> whole_layers(policy.checkpointing, Checkpointing::off);
    const WithoutAdapters base(policy);
    return forward(asked, policy);
}

}  // namespace vramfit::model
