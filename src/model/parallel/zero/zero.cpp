// deepspeed.initialize, and what transformers fills in for "auto".
#include "model/parallel/zero/zero.hpp"

#include "engine/ops/copy.hpp"
#include "engine/session.hpp"
#include "model/loading/load.hpp"
#include "model/network/in_module.hpp"
#include "model/parallel/zero/stage12.hpp"
#include "model/parallel/zero/stage3.hpp"

namespace vramfit::model {

using namespace engine;

namespace {

/// DeepSpeedEngine._cast_module_mixed_precision: parameters one by one, where they are; packed ones (integers) and
/// buffers stay. In 0.14 module.half().
void cast_parameters(const Run& run, Network& network) {
    if (!zero_cast(run)) return;
    Session& session = run.session;
    const GradMode no_grad(session, false);
    const Scoped<bool> on_host(session.on_host, waits_on_host(run));
    for (const NamedParameter& p : named_parameters(network)) {
        Tensor& t = *p.tensor;
        if (!is_floating(t.dtype()) || t.dtype() == zero_dtype(run)) continue;
        if (session.on_host) {
            set_data(t, host_tensor(session, t.sizes(), zero_dtype(run)));
            continue;
        }
        const Category category = session.recorder.label_of(t->storage->id);
        set_data(t, to(detach(t), zero_dtype(run)));
        label(t, category);
        belongs_to(t, p.module);
    }
}

}  // namespace

ZeroSizes sizes_of(const ZeroPlan& plan, std::int64_t hidden_size) {
    const std::int64_t square = hidden_size * hidden_size;
    return {plan.reduce_bucket_size.value_or(square),
            plan.prefetch_bucket_size.value_or(static_cast<std::int64_t>(0.9 * static_cast<double>(square))),
            plan.param_persistence_threshold.value_or(10 * hidden_size)};
}

double clip_of(const Run& run) {
    const ZeroPlan& plan = *zero_of(run.plan);
    if (plan.clips_by_default && !run.stack.deepspeed_clips_by_default()) return 0;
    return plan.gradient_clipping.value_or(run.plan.training.max_grad_norm);
}

void place_by_deepspeed(const Run& run, Network& network) {
    cast_parameters(run, network);
    if (waits_on_host(run))
        move_to_device(run, network,
                       run.stack.deepspeed_casts_buffers() ? std::optional(zero_dtype(run)) : std::nullopt);
}

std::unique_ptr<Zero> make_zero(const Run& run, Network& network) {
    if (is_partitioned(run.plan)) return std::make_unique<Zero3>(run, network);
    place_by_deepspeed(run, network);
    if (zero_of(run.plan)->stage == 3) {  // DeepSpeedZeRoOffload._convert_to_zero_parameters: zero.Init(module=...)
        network.partitions = std::make_shared<Partitions>(run.session, *run.plan.distributed);
        return std::make_unique<Zero3>(run, network);
    }
    return std::make_unique<Zero12>(run, network);
}

}  // namespace vramfit::model
