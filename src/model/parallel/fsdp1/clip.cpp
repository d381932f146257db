// torch 2.11 distributed/fsdp/fully_sharded_data_parallel.py FullyShardedDataParallel.clip_grad_norm_.
#include "model/step/clip.hpp"
#include "engine/ops/clamp.hpp"
#include "engine/ops/copy.hpp"
#include "engine/ops/pointwise.hpp"
#include "engine/ops/reduce.hpp"
#include "engine/session.hpp"
#include "model/parallel/collectives.hpp"
#include "model/parallel/fsdp1/fsdp1.hpp"

namespace vramfit::model {

using namespace engine;

namespace {

/// The norm of gradients in host memory; what is clipped with it is on the host.
Tensor norm_on_host(Session& session) { return to_device(host_tensor(session, {}, DType::float32)); }

/// _get_grad_norm. One norm for each gradient, in float32.
Tensor norm_of(Session& session, const std::vector<Tensor>& gradients) {
    Tensor stacked;
    {
        std::vector<Tensor> norms;
        for (const Tensor& gradient : gradients)
            norms.push_back(reduce(gradient, 1, false, DType::float32, Op::linalg_vector_norm));
        stacked = empty(session, {static_cast<std::int64_t>(norms.size())}, DType::float32, Op::cat);
    }
    return reduce(stacked, 1, false, DType::float32, Op::linalg_vector_norm);
}

/// torch.tensor(0.0) on the device.
Tensor new_zero(Session& session) {
    Tensor out = to_device(host_tensor(session, {}, DType::float32));
    session.streams.host_waits(0);  // for that copy
    return out;
}

}  // namespace

// torch.nn.utils.clip_grad_norm_ of the module's own parameters.
Tensor Fsdp1::clip_uncut_gradients() {
    const Scoped<bool> on_host(run_.session.on_host, shared_.plan.cpu_offload);
    if (shared_.plan.use_orig_params) return clip_grad_norm(run_.session, trainable_parameters(network_));
    return clip_grad_norm(run_.session, flat_groups().front().parameters);
}

Tensor Fsdp1::clip_gradients() {
    Session& session = run_.session;
    const GradMode no_grad(session, false);
    const bool keeps_zero = session.stack.fsdp1_clips_by_a_kept_zero();
    if (keeps_zero && !zero_.defined()) zero_ = new_zero(session);
    if (shared_.plan.sharding_strategy == FsdpStrategy::no_shard) return clip_uncut_gradients();
    std::vector<Tensor> gradients;
    for (const Fsdp1Unit* unit : all_) unit->append_gradients(gradients);
    const bool on_host = shared_.plan.cpu_offload;
    const Tensor norm = gradients.empty() ? (keeps_zero ? zero_ : new_zero(session))
                        : on_host         ? norm_on_host(session)
                                          : norm_of(session, gradients);
    const Tensor norm_of_others = keeps_zero ? Tensor() : new_zero(session);  // of gradients that are not cut
    Tensor total = pointwise_result(norm, DType::float32, Op::pow);
    all_reduce(total);
    if (!keeps_zero) const Tensor squared = pointwise_result(norm_of_others, DType::float32, Op::pow);
    total = pointwise_result(total, DType::float32, Op::pow);
    if (on_host) {
        session.streams.host_waits(0);
        return host_tensor(session, {}, DType::float32);
    }
    Tensor coefficient = add(total, 1e-6);
    {
        const Tensor inverse = reciprocal(coefficient);
        coefficient = mul(inverse, 1.0);
    }
    const Tensor clamped = clamp(coefficient);
    Tensor widest = gradients.empty() ? total : gradients[0];
    for (const Tensor& gradient : gradients)
        if (result_type(widest, gradient) != widest.dtype()) widest = gradient;
    return to(total, widest.dtype());
}

}  // namespace vramfit::model
