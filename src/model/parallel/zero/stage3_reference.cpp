// deepspeed 0.19.8 runtime/zero/parameter_offload.py DeepSpeedZeRoOffload.
#include "model/parallel/zero/stage3_reference.hpp"

#include "engine/session.hpp"
#include "model/network/called.hpp"
#include "model/parallel/zero/linear.hpp"
#include "model/parallel/zero/stage3_modules.hpp"
#include "model/parallel/zero/zero.hpp"

namespace vramfit::model {

using namespace engine;

namespace {

/// "auto" is not filled in for it, since prepare_deepspeed writes keys that nobody reads
/// ("zero_optimization.stage3_prefetch_bucket_size"); DeepSpeedConfigModel takes its own defaults for "auto".
ZeroSizes sizes_of_reference(const ZeroPlan& plan) {
    const ZeroPlan own;
    return {0, plan.prefetch_bucket_size.value_or(*own.prefetch_bucket_size),
            plan.param_persistence_threshold.value_or(*own.param_persistence_threshold)};
}

}  // namespace

Zero3Reference::Zero3Reference(const Run& run, Network& network)
    : session_(run.session),
      partitions_(*network.partitions),
      coordinator_(run.session, partitions_, *zero_of(run.plan), sizes_of_reference(*zero_of(run.plan)).prefetch,
                   kAllGatherOfReference),
      root_(key_of(&network, Part::whole)) {
    mark_persistent_parameters(session_, network, partitions_, sizes_of_reference(*zero_of(run.plan)).persistence);
    list_own_parameters(network, partitions_, coordinator_);
}

Tensor Zero3Reference::before(const ModuleKey& key, const Tensor& input) {
    Tensor given = input;
    Tensor* const inputs[] = {&given};
    before_all(key, inputs);
    return given;
}

void Zero3Reference::before_all(const ModuleKey& key, std::span<Tensor* const>) {
    if (key == root_) coordinator_.reset_step();
    running_.push_back(coordinator_.module_at(key));
    coordinator_.fetch(running_.back(), true);
}

void Zero3Reference::after_all(const ModuleKey&, std::span<Tensor* const>) {
    coordinator_.release(running_.back(), true);
    running_.pop_back();
}

void Zero3Reference::read(const Tensor& parameter) { coordinator_.read(running_, parameter); }

Tensor Zero3Reference::linear(const Tensor& input, const Tensor& weight, const Tensor& bias) {
    return linear_of_stage3(input, weight, bias);
}

}  // namespace vramfit::model
