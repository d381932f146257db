// torch 2.2 to 2.11 torch/amp/grad_scaler.py (2.2: torch/cuda/amp/grad_scaler.py),
// distributed/fsdp/sharded_grad_scaler.py.
#include "model/step/grad_scaler.hpp"

#include <algorithm>
#include <set>

#include "engine/ops/copy.hpp"
#include "engine/ops/pointwise.hpp"
#include "engine/session.hpp"
#include "model/parallel/collectives.hpp"
#include "vramfit/base/error.hpp"

namespace vramfit::model {

using namespace engine;

namespace {

Tensor number(Session& session, DType dtype) { return empty(session, {}, dtype, Op::scaler); }

/// One list of gradients for each dtype.
std::set<DType> dtypes_of_gradients(const Optimizer& optimizer) {
    std::set<DType> dtypes;
    for (const ParameterGroup& group : optimizer.groups)
        for (const NamedParameter& p : group.parameters)
            if ((*p.tensor)->grad) dtypes.insert(p.tensor->grad().dtype());
    return dtypes;
}

}  // namespace

Tensor GradScaler::scale(const Tensor& loss) {
    if (!scale_.defined()) {
        scale_ = number(loss.session(), DType::float32);
        growth_tracker_ = number(loss.session(), DType::int32);
    }
    const Tensor scaled = mul(loss, scale_);
    return gradients_ == ScaledGradients::fsdp1_parts ? to(scaled, loss.dtype()) : scaled;
}

void GradScaler::unscale(Session& session, const Optimizer& optimizer) {
    Tensor inverse = number(session, DType::float64);  // _scale.double().reciprocal().float()
    inverse = number(session, DType::float64);
    inverse = number(session, DType::float32);
    if (gradients_ != ScaledGradients::fsdp1_parts && dtypes_of_gradients(optimizer).contains(DType::float16))
        throw Error(ErrorKind::invalid, "training.fp16", "Attempting to unscale FP16 gradients (torch)",
                    "load in float32, or use bf16");
    find_inf(session, optimizer);
    if (gradients_ != ScaledGradients::fsdp1_parts) return;
    const bool there = is_on_host(found_inf_);
    all_reduce(there ? number(session, DType::float32) : found_inf_);
    if (there) session.streams.host_waits(0);  // for the copy back
}

// _unscale_grads_: _MultiDeviceReplicator.get copies found_inf and the factor to the gradients' device.
void GradScaler::find_inf(Session& session, const Optimizer& optimizer) {
    const std::set<DType> dtypes = dtypes_of_gradients(optimizer);
    const Tensor found_inf = number(session, DType::float32);
    if (on_host_ && !dtypes.empty()) {
        found_inf_ = host_tensor(session, {}, DType::float32);
        return;
    }
    found_inf_ = number(session, DType::float32);
    // A process that owns no gradient has none to multiply.
    const Tensor factor_there = dtypes.empty() ? Tensor() : number(session, DType::float32);
    if (gradients_ == ScaledGradients::dtensors)
        for (std::size_t i = 0; i < dtypes.size(); ++i) share_found_inf();
}

// torch 2.11 distributed/tensor/_dispatch.py found_inf_reduce_handler: DTensor.full_tensor of a partial maximum.
void GradScaler::share_found_inf() {
    const Tensor whole = clone(found_inf_);
    all_reduce(whole);
}

void GradScaler::step(Session& session, Optimizer& optimizer) {
    const bool ready = !found_inf_.defined();
    if (!optimizer.type->scales_gradients) {
        if (ready) unscale(session, optimizer);
        if (!is_on_host(found_inf_)) session.streams.host_waits(0);  // _maybe_opt_step: v.item()
        optimizer.type->step(session, optimizer);
    } else {
        if (ready) {  // _check_inf_per_device
            const Tensor dummy = number(session, DType::float32);
            find_inf(session, optimizer);
        }
        const Tensor found_inf = add(found_inf_, 0);  // sum([t]) begins with 0 + t
        Tensor grad_scale;
        if (ready && session.stack.grad_scale_is_multiplied()) grad_scale = mul(scale_, 1);
        optimizer.type->step(session, optimizer);
    }
    if (is_on_host(found_inf_)) {  // update: found_inf.to(_scale.device)
        const Scoped<bool> on_device(session.on_host, false);
        const Tensor there = number(session, DType::float32);
    }
    found_inf_.reset();
}

}  // namespace vramfit::model
