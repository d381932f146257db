// The hooks, the buckets and their reduction.
#include "model/parallel/zero/buckets.hpp"

#include <algorithm>

#include "engine/ops/copy.hpp"
#include "engine/ops/pointwise.hpp"
#include "engine/session.hpp"
#include "model/network/shared_module.hpp"
#include "model/parallel/zero/norms.hpp"

namespace vramfit::model {

using namespace engine;

namespace {

/// What passes through the bucket is no module's.
class InBucket {
  public:
    explicit InBucket(Session& session)
        : scope_(session.recorder.module, {-1, session.recorder.intern(kReduceBucket)}) {}

  private:
    Scoped<Module> scope_;
};

}  // namespace

ZeroBuckets::ZeroBuckets(const Run& run, std::span<const ZeroGroup> groups)
    : run_(run), groups_(groups), rank_(run.plan.distributed->rank), all_(groups.size()), averaged_(groups.size()) {
    const ZeroPlan& zero = *zero_of(run.plan);
    dtype_ = groups.front().dtype;
    widens_ = dtype_ != zero_dtype(run);
    bucket_size_ = sizes_of(zero, run.spec.hidden_size).bucket;
    splits_gradients_ = zero.stage == 2;
    overlaps_ = zero.overlap_comm.value_or(false);
    offloads_ = zero.offload_optimizer;
    buffer_dtype_ = widens_ && !splits_gradients_ ? zero_dtype(run) : dtype_;
    contiguous_ = zero.contiguous_gradients || offloads_;
    scatters_ = zero.reduce_scatter;
    for (std::size_t g = 0; g < groups.size(); ++g) {
        wide_.emplace_back(groups[g].parameters.size());
        for (std::size_t i = 0; i < groups[g].parameters.size(); ++i) {
            places_[groups[g].parameters[i].tensor.get()] = {g, i};
            largest_ = std::max(largest_, groups[g].parameters[i].elements);
        }
    }
}

// setup_buckets.
void ZeroBuckets::set_up() {
    if (ready_) return;
    ready_ = true;
    ++micro_step_;
    buffers_.clear();
    const int count = overlaps_ ? 2 : 1;
    const InBucket module(run_.session);
    for (int i = 0; contiguous_ && i < count; ++i)
        buffers_.push_back(empty(run_.session, {bucket_size_}, buffer_dtype_, Op::empty));
    buffer_ = 0;
}

void ZeroBuckets::begin_backward() {
    const Scoped<Category> fresh(run_.session.recorder.fresh, Category::gradients);
    set_up();
}

void ZeroBuckets::on_gradient(const Tensor& leaf) {
    const auto place = places_.find(leaf.get());
    if (place == places_.end()) return;  // a recomputed layer's input is a leaf too
    const Scoped<Category> fresh(run_.session.recorder.fresh, Category::gradients);
    set_up();
    if (widens_ && !splits_gradients_) widen(place->second);
    if (splits_gradients_ || (overlaps_ && boundary_)) add(place->second);
}

// _fill_param_grad_accum_attribute.
void ZeroBuckets::widen(const Place& place) {
    Tensor& sum = wide_[place.group][place.index];
    const Tensor& parameter = at(place).tensor;
    const GradMode no_grad(run_.session, false);
    const Tensor wide = to(parameter.grad(), buffer_dtype_);
    belongs_to(wide, at(place).module);
    if (!sum.defined()) sum = wide;
    parameter->grad.reset();
}

// get_gradient_for_reduction.
Tensor ZeroBuckets::gradient_of(const Place& place) const {
    return widens_ && !splits_gradients_ ? wide_[place.group][place.index] : at(place).tensor.grad();
}

// clear_grad_attribute.
void ZeroBuckets::clear(const Place& place) {
    wide_[place.group][place.index].reset();
    at(place).tensor->grad.reset();
}

// _get_compact_grad_partition_buffer, _build_compact_grad_partition_buffer: views of one float32 tensor.
Tensor ZeroBuckets::wide_partition(std::size_t g) {
    std::vector<Tensor>& pieces = averaged_[g];
    if (!pieces.empty()) return pieces.front();
    const ZeroGroup& group = groups_[g];
    const Tensor flat = zeros(run_.session, {group.partition}, zero_dtype(run_));
    belongs_to(flat, group.own_module);
    std::int64_t filled = 0;
    const auto add = [&](std::int64_t elements) {
        pieces.push_back(alias(flat, {elements}, {1}));
        filled += elements;
    };
    for (const std::size_t i : group.own) add(span_of(group, group.parameters[i], rank_).elements);
    if (filled < group.partition) add(group.partition - filled);
    return flat;
}

// reduce_independent_p_g_buckets_and_remove_grads.
void ZeroBuckets::add(const Place& place) {
    const ZeroParameter& p = at(place);
    if (elements_ + p.elements > bucket_size_) {
        reduce();
        if (contiguous_ && overlaps_) buffer_ = 1 - buffer_;
    }
    if (contiguous_) copy_into_bucket(place);
    elements_ += p.elements;
    bucket_.push_back(place);
}

void ZeroBuckets::copy_into_bucket(const Place& place) {
    const ZeroParameter& p = at(place);
    const Tensor gradient = gradient_of(place);
    oversized_ = p.elements > bucket_size_;
    if (oversized_) {
        if (offloads_) set_data(gradient, clone_contiguous(gradient));
        return;
    }
    set_data(gradient, alias(buffers_[buffer_], p.tensor.sizes(), contiguous_strides(p.tensor.sizes())));
}

// reduce_ipg_grads.
void ZeroBuckets::reduce() {
    Session& session = run_.session;
    const InBucket module(session);
    if (!contiguous_)
        reduce_apart();
    else if (oversized_)
        average(gradient_of(bucket_[0]));
    else
        average(buffers_[buffer_]);
    const OnStream on(session.recorder, reduction_stream());
    for (const Place& place : bucket_) hand_over(place);
    bucket_.clear();
    elements_ = 0;
    oversized_ = false;
}

// average_tensor.
void ZeroBuckets::average(const Tensor& bucket) {
    Session& session = run_.session;
    if (overlaps_) {
        session.streams.wait(kReduction, std::uint8_t{0});
        session.streams.wait(std::uint8_t{0}, kReduction);
    }
    const OnStream on(session.recorder, reduction_stream());
    session.streams.launch(reduction_stream());
    if (offloads_) session.streams.record(bucket, reduction_stream());
    if (scatters_) return reduce_slices(bucket, bucket_size_);
    if (!widens_) return;
    // gradient_reduction_w_predivide, _add_full_reduction_to_compact_grad_partition.
    const Tensor wide = to(alias(bucket, {elements_}, {1}), zero_dtype(run_));
    for (const Place& place : bucket_)
        if (at(place).is_own) wide_partition(place.group);
}

// The slices of one owner that follow each other are one; allreduce_and_scatter sends them once they are more than
// `most` elements.
void ZeroBuckets::reduce_slices(const Tensor& bucket, std::int64_t most) {
    std::vector<OwnedPart> slices;
    for (const Place& place : bucket_) {
        for (const OwnedPart& part : at(place).parts) {
            // What goes to this rank's wide partition is not merged.
            if (!slices.empty() && slices.back().rank == part.rank && !(widens_ && part.rank == rank_))
                slices.back().elements += part.elements;
            else
                slices.push_back(part);
            if (widens_ && part.rank == rank_) wide_partition(place.group);
        }
    }
    std::size_t begin = 0;
    std::int64_t elements = 0;
    for (std::size_t i = 0; i < slices.size(); ++i) {
        elements += slices[i].elements;
        if (elements <= most && i + 1 < slices.size()) continue;
        all_reduce(bucket, std::span(slices).subspan(begin, i + 1 - begin));
        begin = i + 1;
        elements = 0;
    }
}

// allreduce_and_copy_with_multiple_ranks: a flat copy where there are several slices.
void ZeroBuckets::all_reduce(const Tensor& bucket, std::span<const OwnedPart> slices) {
    Session& session = run_.session;
    std::int64_t elements = 0;
    for (const OwnedPart& slice : slices) elements += slice.elements;
    Tensor flat = bucket;
    if (slices.size() > 1) flat = empty(session, {elements}, buffer_dtype_, Op::cat);
    if (buffer_dtype_ != zero_dtype(run_))
        flat = to(slices.size() > 1 ? flat : alias(bucket, {elements}, {1}), zero_dtype(run_));
    session.streams.launch(reduction_stream());
    const bool has_own = std::any_of(slices.begin(), slices.end(), [&](const OwnedPart& s) { return s.rank == rank_; });
    if (!overlaps_) return;
    session.streams.record(flat, kReduction);
    if (has_own) session.streams.record(bucket, kReduction);
}

// buffered_reduce_fallback, allreduce_and_copy.
void ZeroBuckets::reduce_apart() {
    Session& session = run_.session;
    if (bucket_.empty()) return;
    if (overlaps_) session.streams.host_waits_for_all();
    for (const Place& place : cleared_) clear(place);
    cleared_.clear();
    const OnStream on(session.recorder, reduction_stream());
    Tensor flat = gradient_of(bucket_[0]);
    if (bucket_.size() > 1) flat = empty(session, {elements_}, buffer_dtype_, Op::cat);
    if (buffer_dtype_ != zero_dtype(run_)) flat = to(flat, zero_dtype(run_));
    for (const Place& place : bucket_)
        if (widens_ && at(place).is_own) wide_partition(place.group);
    session.streams.launch(reduction_stream());
    if (!overlaps_) return;
    session.streams.record(flat, kReduction);
    for (const Place& place : bucket_) session.streams.record(gradient_of(place), kReduction);
}

// What reduce_ipg_grads does with each parameter once its gradient is reduced.
void ZeroBuckets::hand_over(const Place& place) {
    const ZeroParameter& p = at(place);
    if (!p.is_own) {
        if (!splits_gradients_) return;
        if (overlaps_ && !contiguous_)
            cleared_.push_back(place);
        else
            clear(place);
    } else if (contiguous_) {
        copy_to_partition(place);
    }
}

// copy_grads_in_partition.
void ZeroBuckets::copy_to_partition(const Place& place) {
    if (widens_ && !offloads_) {
        if (!splits_gradients_) clear(place);
        return;
    }
    if (offloads_) return offload(place);
    const ZeroParameter& p = at(place);
    if (!partition_.defined()) {
        std::int64_t total = 0;
        for (const ZeroGroup& group : groups_)
            for (const std::size_t i : group.own) total += group.parameters[i].elements;
        partition_ = empty(run_.session, {total}, dtype_, Op::empty);
        std::vector<Module> modules;
        for (const ZeroGroup& group : groups_)
            for (const std::size_t i : group.own) modules.push_back(group.parameters[i].module);
        belongs_to(partition_, around(run_.session.recorder, modules));
    }
    run_.session.streams.launch(reduction_stream());
    set_data(p.tensor.grad(), alias(partition_, p.tensor.sizes(), contiguous_strides(p.tensor.sizes())));
}

// The same with the optimizer in host memory: async_accumulate_grad_in_cpu_via_gpu, set_norm_for_param_grad_in_gpu,
// update_offload_overflow_tracker_for_param_grad, async_inplace_copy_grad_to_fp32_buffer_from_gpu.
void ZeroBuckets::offload(const Place& place) {
    Session& session = run_.session;
    const ZeroParameter& p = at(place);
    const Tensor gradient = widens_ ? wide_partition(place.group) : p.tensor.grad();
    if (!widens_ && (micro_step_ > 0 || !boundary_)) {
        session.streams.host_waits(copied_);
        copied_ = session.streams.now(reduction_stream());
    }
    if (!boundary_) return;
    const Tensor own = alias(gradient, {span_of(groups_[place.group], p, rank_).elements}, {1});
    norms_.push_back(double_norm(own));
    {
        const bool widens = run_.stack.zero2_widens_for_overflow();
        const Tensor& looked_at = widens_ ? own : gradient;
        const Tensor overflow = widens ? has_inf_or_nan_in_float32(looked_at) : has_inf_or_nan(looked_at);
    }
    session.streams.host_waits(reduction_stream());
    { const Tensor wide = to(own, DType::float32); }
    session.streams.launch(reduction_stream());
    session.streams.record(gradient, reduction_stream());
    copied_ = session.streams.now(reduction_stream());
    clear(place);
}

// reduce_gradients (stage 1), independent_gradient_partition_epilogue.
void ZeroBuckets::epilogue() {
    Session& session = run_.session;
    const GradMode no_grad(session, false);
    const Scoped<Category> fresh(session.recorder.fresh, Category::gradients);
    if (!ready_ || (!splits_gradients_ && !boundary_)) return;
    if (!splits_gradients_ && !overlaps_)
        for (std::size_t g = 0; g < groups_.size(); ++g)
            for (std::size_t i = 0; i < groups_[g].parameters.size(); ++i)
                if (gradient_of({g, i}).defined()) add({g, i});
    reduce();
    if (overlaps_) {
        session.streams.host_waits_for_all();
        for (const Place& place : cleared_) clear(place);
        cleared_.clear();
    }
    for (std::size_t g = 0; g < groups_.size() && !offloads_; ++g) collect(g);
    release();
    let_go();
}

// get_all_grad_tensors, get_flat_partition.
void ZeroBuckets::collect(std::size_t g) {
    if (widens_) {
        if (boundary_) wide_partition(g);
        return;
    }
    const ZeroGroup& group = groups_[g];
    std::vector<Tensor> fresh;
    for (const std::size_t i : group.own) {
        const Tensor gradient = group.parameters[i].tensor.grad();
        fresh.push_back(gradient.defined() ? gradient : zeros_like(group.parameters[i].tensor));
    }
    if (all_[g].empty()) all_[g] = std::move(fresh);
    if (!boundary_) return;
    std::vector<Tensor>& pieces = averaged_[g];
    pieces.clear();
    std::int64_t filled = 0;
    for (std::size_t n = 0; n < group.own.size(); ++n) {
        const ZeroParameter& p = group.parameters[group.own[n]];
        const std::int64_t elements = span_of(group, p, rank_).elements;
        pieces.push_back(elements < p.elements ? alias(all_[g][n], {elements}, {1}) : all_[g][n]);
        filled += elements;
    }
    if (filled < group.partition) pieces.push_back(zeros(run_.session, {group.partition - filled}, dtype_));
    all_[g].clear();
}

void ZeroBuckets::let_go() {
    if (overlaps_) run_.session.streams.host_waits_for_all();
}

std::span<const Tensor> ZeroBuckets::averaged_parameters(std::size_t group) const {
    return std::span(averaged_[group]).first(groups_[group].own.size());
}

// _release_ipg_buffers, _clear_param_grad_only.
void ZeroBuckets::release() {
    buffers_.clear();
    partition_.reset();
    ready_ = false;
    for (const ZeroGroup& group : groups_)
        for (const ZeroParameter& p : group.parameters) p.tensor->grad.reset();
}

void ZeroBuckets::free_gradients(std::size_t group) {
    for (Tensor& wide : wide_[group]) wide.reset();
    for (const ZeroParameter& p : groups_[group].parameters) p.tensor->grad.reset();
}

void ZeroBuckets::begin_accumulation() {
    micro_step_ = -1;
    run_.session.streams.host_waits(copied_);
}

}  // namespace vramfit::model
