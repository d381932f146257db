// trl 1.9 experimental/ppo/ppo_trainer.py PolicyAndValueWrapper.forward.
#include "model/preferences/ppo/wrapper.hpp"

#include "engine/backward.hpp"
#include "model/network/modules.hpp"
#include "model/preferences/grpo/generation.hpp"
#include "model/preferences/ppo/forward.hpp"

namespace vramfit::model {

using namespace engine;

namespace {

/// The value model's output without a head, as far as it holds memory.
struct BackboneOutput {
    KvCachePointer past_key_values;
    std::vector<Tensor> hidden_states;
};

BackboneOutput backbone(const Run& run, const Network& network, const Batch& given, const Place& place) {
    const WithinPhase phase(run.session, phase_at(PhaseKind::value_forward, place));
    BackboneOutput out;
    out.past_key_values = make_cache(run, network);
    const Scoped keeps(run.hidden_states, &out.hidden_states);
    out.hidden_states.push_back(last_hidden_state(run, network, given, out.past_key_values, {}));
    return out;
}

WrappedOutput forward_both(const Run& run, const PpoNetworks& networks, const Batch& given, const Place& place) {
    const RunSizes sizes{given.input_ids.size(0), given.input_ids.size(1), 0};
    const Run of_value = networks.value.on(run, sizes);
    BackboneOutput output = backbone(of_value, *networks.value.network, given, place);
    on_gradient_complete(output.hidden_states.back(), phase_at(PhaseKind::backward_value, place));
    WrappedOutput out;
    out.values = forward(networks.value.network->head, output.hidden_states.back());
    run.session.end_loss();
    out.policy = causal_lm(run, networks.policy, given, {}, place);
    let_go(output.past_key_values);
    output.past_key_values.reset();
    while (!output.hidden_states.empty()) output.hidden_states.pop_back();
    return out;
}

}  // namespace

WrappedOutput wrapped_output(const Run& run, const PpoNetworks& networks, const Batch& given, const Place& place) {
    run.session.recorder.begin(phase_at(PhaseKind::value_forward, place));
    WrappedOutput out = forward_both(run, networks, given, place);
    begin_loss(run, place);
    return out;
}

}  // namespace vramfit::model
