// ms-swift 4.6 rlhf_trainers/reward_trainer.py RewardTrainer.compute_loss.
#include "model/preferences/ms_swift/reward.hpp"

#include "engine/ops/copy.hpp"
#include "engine/ops/in_place.hpp"
#include "engine/ops/pointwise.hpp"
#include "engine/ops/reduce.hpp"
#include "engine/ops/split.hpp"
#include "engine/ops/unary.hpp"
#include "model/preferences/metrics.hpp"
#include "model/preferences/reward.hpp"

namespace vramfit::model {

using namespace engine;

namespace {

/// `-logsigmoid(chosen - rejected).mean()`.
Tensor loss_of_pairs(const Tensor& chosen, const Tensor& rejected) {
    const Tensor mean = [&] {
        const Tensor likelihood = log_sigmoid(sub(chosen, rejected));
        return mean_all(likelihood);
    }();
    return neg(mean);
}

/// `coefficient * torch.mean((chosen + rejected) ** 2)`.
Tensor centering_loss(const Tensor& chosen, const Tensor& rejected) {
    const Tensor mean = [&] {
        const Tensor squares = square(add(chosen, rejected));
        return mean_all(squares);
    }();
    return mul(mean, 1.0);
}

void read_reward_metrics(const Tensor& chosen, const Tensor& rejected) {
    const GradMode no_grad(chosen.session(), false);
    read_mean(chosen);
    read_mean(rejected);
    read_mean([&] {
        const Tensor higher = compare(Op::gt, chosen, rejected);
        return to(higher, DType::float32);
    }());
    read_mean(sub(chosen, rejected));
}

}  // namespace

Tensor swift_reward_loss(const Run& run, const Network& network, const Batch& batch, const Place& place,
                         const ForwardWrapper& wrapper) {
    if (wrapper.before) wrapper.before();
    Tensor rewards = rewards_of(run, network, batch, place);
    begin_loss(run, place);
    Tensor* const outputs[] = {&rewards};
    if (wrapper.after) wrapper.after(rewards, outputs);
    const auto halves = chunk(rewards, 2, 0);
    const Tensor loss = loss_of_pairs(halves[0], halves[1]);
    Tensor centering;  // bound until the function returns
    if (run.plan.preference.centers_rewards) {
        centering = centering_loss(halves[0], halves[1]);
        add_in_place(loss, centering);
        read_item(detach(centering));
    }
    read_reward_metrics(detach(halves[0]), detach(halves[1]));
    return loss;
}

}  // namespace vramfit::model
