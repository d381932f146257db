// torch 2.2 to 2.11 torch/amp/grad_scaler.py (2.2: torch/cuda/amp/grad_scaler.py).
#include "model/grad_scaler.hpp"

#include "engine/ops/copy.hpp"
#include "engine/ops/pointwise.hpp"
#include "vramfit/base/error.hpp"

namespace vramfit::model {

using namespace engine;

namespace {

Tensor number(Session& session, DType dtype) { return empty(session, {}, dtype, Op::scaler); }

}  // namespace

Tensor GradScaler::scale(const Tensor& loss) {
    if (!scale_.defined()) {
        scale_ = number(loss.session(), DType::float32);
        growth_tracker_ = number(loss.session(), DType::int32);
    }
    return mul(loss, scale_);
}

void GradScaler::unscale(Session& session, const Optimizer& optimizer) {
    Tensor inverse = number(session, DType::float64);  // _scale.double().reciprocal().float()
    inverse = number(session, DType::float64);
    inverse = number(session, DType::float32);
    for (const ParameterGroup& group : optimizer.groups)
        for (const NamedParameter& p : group.parameters)
            if ((*p.tensor)->grad && p.tensor->grad().dtype() == DType::float16)
                throw Error(ErrorKind::invalid, "training.fp16", "Attempting to unscale FP16 gradients (torch)",
                            "load in float32, or use bf16");
    find_inf(session);
}

// _unscale_grads_: _MultiDeviceReplicator.get copies found_inf and the factor to the gradients' device.
void GradScaler::find_inf(Session& session) {
    const Tensor found_inf = number(session, DType::float32);
    found_inf_ = number(session, DType::float32);
    const Tensor factor_there = number(session, DType::float32);
}

void GradScaler::step(Session& session, Optimizer& optimizer) {
    const bool ready = !found_inf_.defined();
    if (!optimizer.type->scales_gradients) {
        if (ready) unscale(session, optimizer);
        optimizer.type->step(session, optimizer);
    } else {
        if (ready) {  // _check_inf_per_device
            const Tensor dummy = number(session, DType::float32);
            find_inf(session);
        }
        const Tensor found_inf = add(found_inf_, 0);  // sum([t]) begins with 0 + t
        Tensor grad_scale;
        if (ready && session.stack.grad_scale_is_multiplied()) grad_scale = mul(scale_, 1);
        optimizer.type->step(session, optimizer);
    }
    found_inf_.reset();
}

}  // namespace vramfit::model
