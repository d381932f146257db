// trl 0.24, 1.9 and 1.16 trainer/kto_trainer.py: kto_loss, later _compute_loss.
#include "model/preferences/kto_terms.hpp"

#include "engine/ops/clamp.hpp"
#include "engine/ops/copy.hpp"
#include "engine/ops/pointwise.hpp"
#include "engine/ops/reduce.hpp"
#include "engine/ops/unary.hpp"
#include "engine/ops/view.hpp"

namespace vramfit::model {

using namespace engine;

bool has_kl(const Run& run) { return run.plan.preference.unpaired_loss == UnpairedLoss::kto; }

namespace {

/// 1 - F.sigmoid(self.beta * t).
Tensor less_sigmoid(const Tensor& t) { return subtracted_from_number(sigmoid(mul(t, 1.0))); }

}  // namespace

UnpairedSide losses_of(const Run& run, const Tensor& log_probs, const Tensor& reference, const Tensor& kl,
                       bool desirable) {
    UnpairedSide side;
    side.log_probs = log_probs;
    side.reference = reference;
    if (!run.session.decide("there are rows of a kind", log_probs.size(0) > 0)) {
        side.losses = side.rewards = empty(run.session, {0}, DType::float32, Op::to_copy);
        return side;
    }
    side.log_ratios = sub(log_probs, reference);
    if (has_kl(run))
        side.losses = less_sigmoid(desirable ? sub(side.log_ratios, kl) : sub(kl, side.log_ratios));
    else
        side.losses = desirable ? less_sigmoid(side.log_ratios) : sigmoid(mul(side.log_ratios, 1.0));
    side.rewards = mul(detach(side.log_ratios), 1.0);
    return side;
}

Tensor kl_of(const Run& run, const Tensor& policy, const Tensor& reference) {
    if (!has_kl(run)) {
        Tensor out = to_device(host_tensor(run.session, {1}, DType::float32));
        run.session.streams.host_waits(0);
        return out;
    }
    const Tensor mean = mean_all(sub(policy, reference));
    return clamp(mean_all(mean));
}

Tensor losses_of_both(const UnpairedSide& desired, const UnpairedSide& others) {
    const Tensor weighted[] = {mul(desired.losses, 1.0), mul(others.losses, 1.0)};
    return cat(weighted, 0);
}

}  // namespace vramfit::model
