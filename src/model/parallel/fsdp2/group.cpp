// torch 2.11 distributed/fsdp/_fully_shard: _fsdp_param.py, _fsdp_param_group.py, _fsdp_collectives.py.
#include "model/parallel/fsdp2/group.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "engine/ops/copy.hpp"
#include "engine/ops/jagged_copy.hpp"
#include "engine/session.hpp"
#include "model/network/shared_module.hpp"
#include "vramfit/base/checked.hpp"
#include "vramfit/base/error.hpp"

namespace vramfit::model {

using namespace engine;

namespace {

// FSDPCommContext.lazy_init: streams beside the one that computes.
constexpr std::uint8_t kReduceScatter = 2;
constexpr std::uint8_t kAllReduce = 3;

/// FSDPParamGroup._init_mp_dtypes: of what is trained.
void refuse_mixed_dtypes(const std::vector<ShardedParameter>& parameters) {
    const Tensor* first = nullptr;
    for (const ShardedParameter& p : parameters) {
        const Tensor& t = *p.places[0];
        if (!t.requires_grad()) continue;
        if (first && first->dtype() != t.dtype())
            throw Error(ErrorKind::invalid, "training.bf16",
                        fmt::format("torch stops: trained parameters of one group are {} and {} (FSDP expects uniform "
                                    "original parameter dtype)",
                                    name_of(first->dtype()), name_of(t.dtype())),
                        "--mixed-precision bf16, which makes them float32, or load.dtype float32");
        first = &t;
    }
}

Dims with_rows(Dims sizes, std::int64_t rows) {
    sizes[0] = rows;
    return sizes;
}

}  // namespace

// `chunk` of FSDPParam._init_sharded_param.
std::int64_t most_rows_of(const Tensor& whole, std::int64_t world) {
    return ceil_div(static_cast<std::int64_t>(whole.size(0)), world);
}

std::int64_t rows_on(std::int64_t rank, const Tensor& whole, std::int64_t world) {
    const std::int64_t most = most_rows_of(whole, world);
    return std::clamp<std::int64_t>(static_cast<std::int64_t>(whole.size(0)) - rank * most, 0, most);
}

Tensor empty_rows(const Fsdp2Comm& comm, const Tensor& whole, std::int64_t rows, Op op) {
    return empty(comm.session, with_rows(whole.sizes(), rows), whole.dtype(), op);
}

Tensor kept_shard(const Fsdp2Comm& comm, Tensor shard) {
    return comm.offloads ? host_tensor(comm.session, shard.sizes(), shard.dtype()) : shard;
}

Tensor make_shard(const Fsdp2Comm& comm, const Tensor& whole, Op op) {
    return kept_shard(comm, empty_rows(comm, whole, most_rows_of(whole, comm.world), op));
}

Fsdp2Group::Fsdp2Group(Fsdp2Comm& comm, const std::vector<ShardedParameter>& parameters, bool reshards_after_forward)
    : comm_(comm), reshards_after_forward_(reshards_after_forward) {
    refuse_mixed_dtypes(parameters);
    for (const ShardedParameter& given : parameters) {
        const Tensor whole = *given.places[0];
        Parameter p;
        p.places = given.places;
        p.sizes = whole.sizes();
        p.padded = given.shard;
        p.category = comm.has_adapters && whole.requires_grad() ? Category::adapters : Category::weights;
        if (const auto of = comm.modules.find(given.places[0]); of != comm.modules.end()) p.module = of->second;
        label(p.padded, p.category);
        comm.session.recorder.place(p.padded->storage->id, p.module);
        p.shard_elements = p.padded.numel();
        const Dims local = with_rows(p.sizes, rows_on(comm.rank, whole, comm.world));
        p.sharded = alias(p.padded, local, contiguous_strides(local));
        p.sharded->is_view = false;
        p.sharded.set_requires_grad(whole.requires_grad());
        for (Tensor* place : given.places) *place = p.sharded;
        parameters_.push_back(std::move(p));
    }
    module_ = around(comm_.session.recorder, parameters_, &Parameter::module);
}

// _get_param_all_gather_inputs: shards are cast into one flat tensor; from host memory each comes by itself.
std::vector<Tensor> Fsdp2Group::gather_inputs() const {
    Session& session = comm_.session;
    std::vector<Tensor> inputs;
    const Scoped<Module> module(session.recorder.module, module_);
    Size cast = 0;
    for (const Parameter& p : parameters_) {
        const bool casts = gather_dtype(p) != p.sharded.dtype();
        if (comm_.offloads) {
            const Tensor moved = to_device(p.padded);
            inputs.push_back(casts ? to(moved, gather_dtype(p)) : moved);
        } else if (casts) {
            cast += p.shard_elements * element_size(gather_dtype(p));
        }
    }
    if (!comm_.offloads) inputs.push_back(empty(session, {cast}, DType::uint8, Op::empty));
    return inputs;
}

// foreach_all_gather: what is gathered is copied into its place in the output.
void Fsdp2Group::unshard() {
    if (all_gather_result_.defined() || is_unsharded_) return;
    Session& session = comm_.session;
    const Scoped<std::uint8_t> stream(session.recorder.stream, comm_.gather_stream);
    const Scoped<Category> fresh(session.recorder.fresh, Category::weights);
    Size all = 0;
    for (const Parameter& p : parameters_) all += p.shard_elements * element_size(gather_dtype(p));
    const std::vector<Tensor> inputs = gather_inputs();
    const Scoped<Module> module(session.recorder.module, module_);
    all_gather_result_ = empty(session, {all * comm_.world}, DType::uint8, Op::empty);
}

// The result of the group before, which wait_for_unshard gives up, lives until it returns.
void Fsdp2Group::wait_for_unshard() {
    if (!all_gather_result_.defined()) return;
    Session& session = comm_.session;
    Tensor previous;
    if (state_ == State::forward) previous = std::move(comm_.gathered);
    {
        const Scoped<Category> fresh(session.recorder.fresh, Category::weights);
        std::vector<Size> bytes;
        for (Parameter& p : parameters_) {
            const Size elements = p.shard_elements * comm_.world;
            bytes.push_back(p.shard_elements * element_size(gather_dtype(p)));
            const Scoped<Category> own(session.recorder.fresh, p.category);
            const Scoped<Module> module(session.recorder.module, p.module);
            if (!p.output.defined())
                p.output = empty(session, {elements}, gather_dtype(p), Op::empty);
            else
                allocate_storage(p.output, Op::resize);
        }
        split_copy_table(session, bytes, comm_.world);
    }
    for (Parameter& p : parameters_) {
        if (!p.unsharded.defined()) {
            p.unsharded = alias(p.output, p.sizes, contiguous_strides(p.sizes));
            p.unsharded->is_view = false;
            p.unsharded.set_requires_grad(p.sharded.requires_grad());
        }
        for (Tensor* place : p.places) *place = p.unsharded;
    }
    is_unsharded_ = true;
    if (state_ == State::forward) comm_.gathered = all_gather_result_;
    all_gather_result_.reset();
}

// _to_sharded.
void Fsdp2Group::reshard() {
    if (state_ == State::forward && !reshards_after_forward_) return;
    if (!is_unsharded_) return;
    for (Parameter& p : parameters_) {
        for (Tensor* place : p.places) *place = p.sharded;
        release_storage(p.output);
    }
    is_unsharded_ = false;
}

void Fsdp2Group::pre_forward() {
    state_ = State::forward;
    unshard();
    wait_for_unshard();
}

// is_bw: what is gathered while a layer is computed again stays until its gradients are there.
void Fsdp2Group::post_forward() {
    if (!comm_.session.recomputing) {
        reshard();
        post_forward_indices_.push_back(comm_.post_forward_order.size());
        comm_.post_forward_order.push_back(this);
    }
    state_ = State::idle;
}

void Fsdp2Group::pre_backward() {
    in_backward_ = true;
    if (state_ == State::pre_backward) return;
    state_ = State::pre_backward;
    unshard();
    wait_for_unshard();
    prefetch();
}

// _backward_prefetch: the group that ran before this one.
void Fsdp2Group::prefetch() {
    if (post_forward_indices_.empty()) return;
    const std::size_t index = post_forward_indices_.back();
    post_forward_indices_.pop_back();
    if (index > 0) comm_.post_forward_order[index - 1]->unshard();
}

void Fsdp2Group::post_backward() {
    state_ = State::post_backward;
    if (!comm_.reduces) {
        reshard();
        return;
    }
    std::vector<Parameter*> with_grad;
    std::vector<Tensor> grads;
    for (Parameter& p : parameters_) {
        if (!p.unsharded.defined() || !p.unsharded->grad) continue;
        with_grad.push_back(&p);
        grads.push_back(p.unsharded.grad());
        p.unsharded->grad.reset();
    }
    reshard();
    if (!grads.empty()) reduce(with_grad, grads);
}

// foreach_reduce. A loop's variable holds the last gradient until it returns.
void Fsdp2Group::reduce(const std::vector<Parameter*>& parameters, std::vector<Tensor>& grads) {
    Session& session = comm_.session;
    const Scoped<Category> fresh(session.recorder.fresh, Category::gradients);
    const Scoped<Module> module(session.recorder.module, around(session.recorder, parameters, &Parameter::module));
    comm_.reduce_input.reset();
    all_reduced_.reset();
    const DType dtype = grads[0].dtype();
    Size elements = 0;
    std::vector<Size> bytes;
    for (const Parameter* p : parameters) {
        elements += p->shard_elements;
        bytes.push_back(p->shard_elements * element_size(dtype));
    }
    Tensor input = empty(session, {elements * comm_.world}, dtype, Op::empty);
    chunk_cat_table(session, bytes);
    const Tensor last = grads.back();
    grads.clear();
    Tensor output;
    {
        const Scoped<std::uint8_t> stream(session.recorder.stream, kReduceScatter);
        output = empty(session, {elements}, dtype, Op::empty);
        if (comm_.replicates) {
            session.recorder.stream = kAllReduce;
            all_reduced_ = output;
        }
        output = to(output, parameters[0]->sharded.dtype());
    }
    for (Parameter* p : parameters) {
        if (p->sharded->grad) continue;  // added in place
        Tensor grad = comm_.offloads ? host_tensor(session, p->sharded.sizes(), p->sharded.dtype())
                                     : alias(output, p->sharded.sizes(), p->sharded.strides());
        grad->is_view = false;
        p->sharded->grad = grad.ref();
    }
    comm_.reduce_input = std::move(input);
}

// Groups whose inputs need no gradient have not been reduced yet.
void Fsdp2Group::finish_backward() {
    if (state_ != State::post_backward) post_backward();
    all_reduced_.reset();
    state_ = State::idle;
    in_backward_ = false;
    all_gather_result_.reset();
    post_forward_indices_.clear();
}

}  // namespace vramfit::model
