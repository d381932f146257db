// deepspeed.initialize, and what transformers fills in for "auto".
#include "model/zero/zero.hpp"

#include "engine/ops/copy.hpp"
#include "engine/session.hpp"
#include "model/load.hpp"
#include "model/zero/stage12.hpp"
#include "model/zero/stage3.hpp"

namespace vramfit::model {

using namespace engine;

namespace {

/// DeepSpeedEngine._cast_module_mixed_precision: parameters, still in host memory; buffers stay.
void cast_on_host(Session& session, Network& network) {
    const Scoped<bool> on_host(session.on_host, true);
    for (const NamedParameter& p : named_parameters(network))
        if (p.tensor->dtype() != DType::bfloat16)
            set_data(*p.tensor, host_tensor(session, p.tensor->sizes(), DType::bfloat16));
}

}  // namespace

ZeroSizes sizes_of(const ZeroPlan& plan, std::int64_t hidden_size) {
    const std::int64_t square = hidden_size * hidden_size;
    return {plan.reduce_bucket_size.value_or(square),
            plan.prefetch_bucket_size.value_or(static_cast<std::int64_t>(0.9 * static_cast<double>(square))),
            plan.param_persistence_threshold.value_or(10 * hidden_size)};
}

double clip_of(const Run& run) {
    return zero_of(run.plan)->gradient_clipping.value_or(run.plan.training.max_grad_norm);
}

std::unique_ptr<Zero> make_zero(const Run& run, Network& network) {
    if (is_partitioned(run.plan)) return std::make_unique<Zero3>(run, network);
    cast_on_host(run.session, network);
    move_to_device(run, network);
    return std::make_unique<Zero12>(run, network);
}

}  // namespace vramfit::model
