// torch 2.11 distributed/fsdp/_runtime_utils.py: gradients of a unit, from the flat vector to the optimizer's tensors.
#include "engine/ops/copy.hpp"
#include "engine/session.hpp"
#include "model/parallel/collectives.hpp"
#include "model/parallel/fsdp1/unit.hpp"

namespace vramfit::model {

using namespace engine;

// _use_unsharded_grad_views: a gradient must have its parameter's shape when it is first set.
void Fsdp1Unit::keep_gradient() {
    if (!shared_.plan.use_orig_params) return;
    const bool has_its_dtype = !is_cut() && !is_mixed();
    for (Parameter& p : parameters_) {
        if (!has_its_dtype && !p.original->grad && p.in_part > 0 && !shared_.plan.cpu_offload) {
            const Tensor alike = empty(shared_.session, p.original.sizes(), p.original.dtype(), Op::empty_like);
        }
        p.original->grad = detach(flat_.grad()).ref();
    }
}

// _reduce_grad, _accumulate_sharded_grad. Of a hybrid strategy nodes are summed on a stream of their own, where what
// follows stays.
void Fsdp1Unit::reduce() {
    Session& session = shared_.session;
    const Tensor whole = flat_.grad();
    flat_->grad.reset();
    // _get_reduce_scatter_tensors.
    const Size padded = part_.numel() * shared_.world;
    const Tensor sent = whole.numel() < padded ? empty(session, {padded}, whole.dtype(), Op::constant_pad_nd) : whole;
    Tensor part = empty(session, part_.sizes(), whole.dtype(), Op::empty_like);
    run_collective(session);
    const bool hybrid = is_hybrid(shared_.plan.sharding_strategy);
    const OnStream stream(session.recorder, hybrid ? Fsdp1Streams::kAllReduce : Fsdp1Streams::kPostBackward);
    if (hybrid) {
        session.streams.wait(Fsdp1Streams::kAllReduce, Fsdp1Streams::kPostBackward);
        session.streams.record(part, Fsdp1Streams::kAllReduce);
        session.streams.launch(Fsdp1Streams::kAllReduce);
    }
    if (part.dtype() != part_.dtype()) part = to(part, part_.dtype());
    saved_gradient_ = part;
    if (shared_.plan.cpu_offload) offload(part);
    share_gradient(part);
    session.streams.record(whole, Fsdp1Streams::kPostBackward);
}

// _reduce_grad_no_shard: summed in place.
void Fsdp1Unit::reduce_uncut() {
    Session& session = shared_.session;
    const Tensor computed = flat_.grad();
    session.streams.launch(Fsdp1Streams::kPostBackward);
    Tensor whole = computed;
    if (computed.dtype() != part_.dtype()) {
        whole = to(computed, part_.dtype());
        flat_->grad = whole.ref();
    }
    if (shared_.plan.cpu_offload) {
        saved_gradient_ = whole;
        offload(whole);
        session.streams.host_waits(Fsdp1Streams::kPostBackward);
    }
    share_gradient(whole);
    session.streams.record(computed, Fsdp1Streams::kPostBackward);
}

// _offload_grad.
void Fsdp1Unit::offload(const Tensor& gradient) {
    Session& session = shared_.session;
    session.streams.launch(session.recorder.stream);
    session.streams.record(gradient, Fsdp1Streams::kPostBackward);
}

// _use_sharded_grad_views.
void Fsdp1Unit::share_gradient(const Tensor& gradient) {
    if (!shared_.plan.use_orig_params) return;
    for (Parameter& p : parameters_) {
        p.original->grad.reset();
        if (p.in_part == 0 || !p.original.requires_grad()) continue;
        const Dims sizes = is_cut() ? Dims{p.in_part} : p.sizes;
        Tensor grad = shared_.plan.cpu_offload ? host_tensor(shared_.session, sizes, gradient.dtype())
                                               : alias(gradient, sizes, contiguous_strides(sizes));
        grad->is_view = false;
        p.original->grad = grad.ref();
    }
}

}  // namespace vramfit::model
