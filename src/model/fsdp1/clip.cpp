// torch 2.11 distributed/fsdp/fully_sharded_data_parallel.py FullyShardedDataParallel.clip_grad_norm_.
#include "model/clip.hpp"
#include "engine/ops/clamp.hpp"
#include "engine/ops/copy.hpp"
#include "engine/ops/pointwise.hpp"
#include "engine/ops/reduce.hpp"
#include "engine/session.hpp"
#include "model/fsdp1/fsdp1.hpp"

namespace vramfit::model {

using namespace engine;

namespace {

/// The norm of gradients in host memory, and its square; what is clipped with it is on the host.
Tensor squared_norm_on_host(Session& session, Tensor& norm) {
    norm = to_device(host_tensor(session, {}, DType::float32));
    return pointwise_result(norm, DType::float32, Op::pow);
}

/// _get_grad_norm, and its square. One norm for each gradient, in float32.
Tensor squared_norm(Session& session, const std::vector<Tensor>& gradients, Tensor& norm) {
    Tensor stacked;
    {
        std::vector<Tensor> norms;
        for (const Tensor& gradient : gradients)
            norms.push_back(reduce(gradient, 1, false, DType::float32, Op::linalg_vector_norm));
        stacked = empty(session, {static_cast<std::int64_t>(norms.size())}, DType::float32, Op::cat);
    }
    norm = reduce(stacked, 1, false, DType::float32, Op::linalg_vector_norm);
    stacked.reset();
    return pointwise_result(norm, DType::float32, Op::pow);
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
    if (!zero_.defined()) zero_ = to_device(host_tensor(session, {}, DType::float32));
    if (shared_.plan.sharding_strategy == FsdpStrategy::no_shard) return clip_uncut_gradients();
    std::vector<Tensor> gradients;
    for (const Fsdp1Unit* unit : all_) unit->append_gradients(gradients);
    Tensor norm = zero_;
    const bool on_host = shared_.plan.cpu_offload;
    Tensor total = gradients.empty() ? pointwise_result(zero_, DType::float32, Op::pow)
                   : on_host         ? squared_norm_on_host(session, norm)
                                     : squared_norm(session, gradients, norm);
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
