// Which of trl's trainers computes the loss.
#include "model/preferences/loss.hpp"

#include "model/preferences/bco/loss.hpp"
#include "model/preferences/contrast.hpp"
#include "model/preferences/dpo.hpp"
#include "model/preferences/kto.hpp"
#include "model/preferences/llama_factory/kto.hpp"
#include "model/preferences/llama_factory/pairs.hpp"
#include "model/preferences/llama_factory/reward.hpp"
#include "model/preferences/ms_swift/kto.hpp"
#include "model/preferences/ms_swift/pairs.hpp"
#include "model/preferences/ms_swift/reward.hpp"
#include "model/preferences/reward.hpp"

namespace vramfit::model {

namespace {

Tensor factory_loss(const Run& run, Network& network, const Reference& reference, const Batch& batch,
                    const Place& place) {
    switch (run.plan.loop.kind) {
        case LoopKind::reward: return factory_reward_loss(run, network, batch, place);
        case LoopKind::kto: return factory_kto_loss(run, network, reference, batch, place);
        default: return factory_pair_loss(run, network, reference, batch, place);
    }
}

/// Whose ORPO and CPO are trl's, of rows that come put together.
Tensor swift_loss(const Run& run, Network& network, const Reference& reference, const Batch& batch, const Place& place,
                  const ForwardWrapper& wrapper) {
    switch (run.plan.loop.kind) {
        case LoopKind::reward: return swift_reward_loss(run, network, batch, place, wrapper);
        case LoopKind::kto: return swift_kto_loss(run, network, reference, batch, place);
        case LoopKind::orpo:
        case LoopKind::cpo: return contrast_loss(run, network, batch, place);
        default: return swift_pair_loss(run, network, reference, batch, place, wrapper);
    }
}

}  // namespace

Tensor preference_loss(const Run& run, Network& network, const Reference& reference, const Batch& batch,
                       const Place& place, const ForwardWrapper& wrapper) {
    if (by_llama_factory(run.plan)) return factory_loss(run, network, reference, batch, place);
    if (by_ms_swift(run.plan)) return swift_loss(run, network, reference, batch, place, wrapper);
    switch (run.plan.loop.kind) {
        case LoopKind::reward: return reward_loss(run, network, batch, place, wrapper);
        case LoopKind::orpo:
        case LoopKind::cpo: return contrast_loss(run, network, batch, place);
        case LoopKind::kto: return kto_loss(run, network, reference, batch, place);
        case LoopKind::bco: return bco_loss(run, network, reference, batch, place);
        default: return dpo_loss(run, network, reference, batch, place, wrapper);
    }
}

}  // namespace vramfit::model
