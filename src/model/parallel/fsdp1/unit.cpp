// torch 2.11 distributed/fsdp: _flat_param.py, _runtime_utils.py, _limiter_utils.py, _exec_order_utils.py.
#include "model/parallel/fsdp1/unit.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "engine/backward.hpp"
#include "engine/ops/copy.hpp"
#include "engine/ops/pointwise.hpp"
#include "engine/ops/split.hpp"
#include "engine/ops/view.hpp"
#include "engine/session.hpp"
#include "model/parallel/collectives.hpp"
#include "vramfit/base/checked.hpp"
#include "vramfit/base/error.hpp"

namespace vramfit::model {

using namespace engine;

namespace {

constexpr std::size_t kMostGathersInFlight = 2;  // _FreeEventQueue._max_num_inflight_all_gathers

/// _construct_padding_tensor.
Tensor flat_padding(Session& session, std::int64_t elements, DType dtype) {
    const Tensor ones = empty(session, {elements}, dtype, Op::ones);
    return mul(ones, 1.0);
}

/// _validate_tensors_to_flatten.
void refuse_mixtures(const Tensor& first, const Tensor& other, bool keeps_parameters) {
    if (other.dtype() != first.dtype())
        throw Error(ErrorKind::invalid, "peft",
                    fmt::format("torch stops: FSDP1 makes one vector of weights and adapters that are no modules (Must "
                                "flatten tensors with uniform dtype but got torch.{} and torch.{})",
                                name_of(first.dtype()), name_of(other.dtype())),
                    "load.dtype float32, or leave embeddings out of target_modules (peft keeps their adapters in "
                    "dictionaries)");
    if (!keeps_parameters && other.requires_grad() != first.requires_grad())
        throw Error(ErrorKind::invalid, "distributed.fsdp_config.use_orig_params",
                    "torch stops: a unit has trained and frozen parameters (Must flatten tensors with uniform "
                    "`requires_grad` when `use_orig_params=False`)",
                    "true, or train no biases and no adapters of embeddings");
}

}  // namespace

Fsdp1Unit::Fsdp1Unit(Fsdp1Shared& shared, const std::vector<ParameterPlaces>& parameters, bool is_root)
    : shared_(shared), is_root_(is_root) {
    if (!parameters.empty()) flatten(parameters);
}

// _init_flat_param_and_metadata, then shard: the parameters' own memory ends when they become views of the part, which
// of NO_SHARD is the whole.
void Fsdp1Unit::flatten(const std::vector<ParameterPlaces>& parameters) {
    Session& session = shared_.session;
    const DType dtype = (*parameters[0][0]).dtype();
    const std::int64_t aligned = 16 / element_size(shared_.compute_dtype.value_or(dtype));
    std::vector<Tensor> paddings;
    std::int64_t total = 0;
    const auto pad = [&](std::int64_t unit) {
        const std::int64_t elements = (unit - total % unit) % unit;
        if (elements == 0 || !shared_.plan.use_orig_params) return;  // align_addresses
        paddings.push_back(flat_padding(session, elements, dtype));
        numels_.push_back(elements);
        is_padding_.push_back(true);
        total += elements;
    };
    std::vector<std::int64_t> begins;
    bool requires_grad = false;
    for (const ParameterPlaces& places : parameters) {
        pad(aligned);
        Parameter p;
        p.places = places;
        p.original = *places[0];
        refuse_mixtures(*parameters[0][0], p.original, shared_.plan.use_orig_params);
        p.sizes = p.original.sizes();
        begins.push_back(total);
        const auto elements = static_cast<std::int64_t>(p.original.numel());
        numels_.push_back(elements);
        is_padding_.push_back(false);
        total += elements;
        requires_grad = requires_grad || p.original.requires_grad();
        parameters_.push_back(std::move(p));
    }
    pad(shared_.world);
    const std::int64_t part = is_cut() ? (total + shared_.world - 1) / shared_.world : total;
    const std::int64_t first = is_cut() ? part * shared_.rank : 0;
    const std::int64_t own = std::clamp<std::int64_t>(total - first, 0, part);
    for (std::size_t i = 0; i < parameters_.size(); ++i) {
        const std::int64_t end = begins[i] + static_cast<std::int64_t>(parameters_[i].original.numel());
        parameters_[i].in_part = std::max<std::int64_t>(0, std::min(end, first + part) - std::max(begins[i], first));
    }
    {
        const Tensor whole = empty(session, {total}, dtype, Op::cat);
        paddings.clear();
        part_ = is_cut() ? empty(session, {own}, dtype, Op::clone) : whole;
        if (own < part) part_ = empty(session, {part}, dtype, Op::constant_pad_nd);  // _get_shard
    }
    flat_ = detach(part_);
    flat_->is_view = false;
    flat_.set_requires_grad(requires_grad);
    // _use_unsharded_views: modules hold views of the whole vector, which lives on where it is not cut.
    for (Parameter& p : parameters_)
        if (!shared_.plan.use_orig_params && is_cut())
            set_data(p.original, host_tensor(session, {0}, dtype));
        else if (!shared_.plan.use_orig_params)
            set_data(p.original, alias(part_, p.sizes, contiguous_strides(p.sizes)));
    count_views();
    use_part();
    if (!shared_.plan.cpu_offload) return;
    part_ = host_tensor(session, {part}, dtype);  // _init_param_handle_from_params: flat_param_to(cpu_device)
    session.streams.host_waits(0);
    use_part();
}

// _get_unflat_views, whose split and views nobody uses here: nodes of the thread that makes them.
void Fsdp1Unit::count_views() {
    if (flat_.requires_grad()) count_nodes(shared_.session, 1 + parameters_.size());
}

void Fsdp1Unit::upcast() {
    if (!has_parameters() || part_.dtype() == DType::float32 || !flat_.requires_grad()) return;
    part_ = shared_.plan.cpu_offload ? host_tensor(shared_.session, part_.sizes(), DType::float32)
                                     : to(part_, DType::float32);
    set_data(flat_, part_);
}

void Fsdp1Unit::make_buffers() {
    if (!has_parameters()) return;
    Session& session = shared_.session;
    if (is_mixed()) {
        cast_ = empty(session, part_.sizes(), whole_dtype(), Op::empty_like);
        release_storage(cast_);
    }
    if (!is_cut()) return;
    const Dims whole{part_.numel() * shared_.world};
    whole_ = empty(session, whole, whole_dtype(), Op::empty);
    release_storage(whole_);
    if (is_mixed()) const Tensor in_full_precision = empty(session, whole, part_.dtype(), Op::empty);
}

// _unshard. Gathering waits until the device has given back all but one of the vectors before.
void Fsdp1Unit::unshard(bool forward) {
    Session& session = shared_.session;
    const Scoped<Category> fresh(session.recorder.fresh, Category::weights);
    const bool offloads = shared_.plan.cpu_offload;  // a part is moved even where the gathered vector is still there
    const bool casts = is_mixed() && (offloads || !is_whole_);
    Tensor moved;
    if (casts || offloads) {
        const OnStream stream(session.recorder, Fsdp1Streams::kPreUnshard);
        if (casts) allocate_storage(cast_, Op::resize);
        if (offloads) moved = to_device(part_);
        if (casts)
            moved.reset();
        else
            use_moved(moved);
        session.streams.wait(Fsdp1Streams::kUnshard, Fsdp1Streams::kPreUnshard);
    }
    if (shared_.plan.limit_all_gathers && shared_.free_events.size() >= kMostGathersInFlight) {
        session.streams.host_waits(shared_.free_events.front());
        shared_.free_events.pop_front();
    }
    const OnStream stream(session.recorder, Fsdp1Streams::kUnshard);
    if (!is_cut()) return use_whole(forward);
    if (!is_whole_) {
        allocate_storage(whole_, Op::resize);
        run_collective(session);
        if (moved.defined()) session.streams.record(moved, Fsdp1Streams::kUnshard);
        is_whole_ = true;
    } else if (offloads) {
        session.streams.launch(Fsdp1Streams::kUnshard);  // nothing, but it stands behind the copy that was waited for
    }
    use_whole(forward);
    if (!casts) return;
    session.streams.record(cast_, Fsdp1Streams::kUnshard);
    release_storage(cast_);
}

// flat_param_to: the original parameters hold the copy until they are next made views of the part.
void Fsdp1Unit::use_moved(const Tensor& part) {
    skipped_part_ = false;
    set_data(flat_, part);
    if (!shared_.plan.use_orig_params) return;
    for (Parameter& p : parameters_)
        if (p.in_part > 0) set_data(p.original, alias(part, {p.in_part}, {1}));
}

// _use_unsharded_views: the tensors of the forward pass come back in the backward pass.
void Fsdp1Unit::use_whole(bool forward) {
    uses_whole_ = true;
    Size elements = 0;
    for (const Size& n : numels_) elements += n;
    if (is_cut() || is_mixed()) set_data(flat_, alias(computed(), {elements}, {1}));
    if (!forward && (skipped_part_ || !shared_.plan.use_orig_params)) return;
    if (!forward) count_views();
    if (forward) {
        const GradMode grad(shared_.session, true);
        const std::vector<Tensor> pieces = split_with_sizes(flat_, numels_);
        std::size_t i = 0;
        for (std::size_t piece = 0; piece < pieces.size(); ++piece) {
            if (is_padding_[piece]) continue;
            parameters_[i].view = view(pieces[piece], parameters_[i].sizes);
            ++i;
        }
    }
    for (Parameter& p : parameters_)
        for (Tensor* place : p.places) *place = p.view;
    if (!shared_.plan.use_orig_params)
        for (Parameter& p : parameters_) p.original.reset();
}

// _use_sharded_views: a parameter of which this rank has nothing is empty.
void Fsdp1Unit::use_part() {
    uses_whole_ = false;
    skipped_part_ = false;
    set_data(flat_, part_);
    if (!shared_.plan.use_orig_params) return;
    for (Parameter& p : parameters_) {
        if (!is_cut())
            set_data(p.original, alias(part_, p.sizes, contiguous_strides(p.sizes)));
        else if (p.in_part > 0)
            set_data(p.original, alias(part_, {p.in_part}, {1}));
        else
            set_data(p.original, host_tensor(shared_.session, {0}, part_.dtype()));
        for (Tensor* place : p.places) *place = p.original;
    }
}

// _reshard, on the stream that is current. _use_sharded_flat_param leaves parameters as they are after a forward that
// keeps them whole.
void Fsdp1Unit::reshard(bool free, bool after_forward) {
    Session& session = shared_.session;
    if (after_forward && keeps_whole() && session.grad_enabled && shared_.plan.use_orig_params) {
        set_data(flat_, part_);
        skipped_part_ = true;
    } else {
        use_part();
    }
    if (free) {
        const std::uint8_t current = session.recorder.stream;
        if (is_whole_) {
            session.streams.record(whole_, current);
            release_storage(whole_);
        }
        is_whole_ = false;
        if (shared_.plan.limit_all_gathers) shared_.free_events.push_back(session.streams.now(current));
    }
    if (!is_cut() && is_mixed()) {  // post_reshard
        session.streams.record(cast_, session.recorder.stream);
        release_storage(cast_);
    }
    is_prefetched_ = false;
}

void Fsdp1Unit::begin_forward() {
    if (!shared_.plan.forward_prefetch) return;
    awaits_forward_ = true;
    is_prefetched_ = false;
}

void Fsdp1Unit::pre_forward() {
    Session& session = shared_.session;
    if (in_backward_ || !has_parameters()) return;
    if (shared_.is_first_iteration && !pre_forward_index_) {  // record_pre_forward
        pre_forward_index_ = shared_.pre_forward_order.size();
        shared_.pre_forward_order.push_back(this);
    }
    if (!is_prefetched_) unshard(true);
    awaits_forward_ = false;
    if (session.grad_enabled && flat_.requires_grad())
        count_nodes(session, 1);  // expand_as of _register_post_backward_hook
    session.streams.wait(session.recorder.stream, Fsdp1Streams::kUnshard);
    prefetch_forward();
}

// _prefetch_handle: the unit that ran after this one in the first forward.
void Fsdp1Unit::prefetch_forward() {
    if (!shared_.plan.forward_prefetch || !pre_forward_index_) return;
    const std::size_t index = *pre_forward_index_ + 1;
    if (index >= shared_.pre_forward_order.size()) return;
    Fsdp1Unit& next = *shared_.pre_forward_order[index];
    if (!next.awaits_forward_ || next.is_prefetched_) return;
    next.unshard(true);
    next.is_prefetched_ = true;
}

// The root stays whole: its parameters are expected to be the first that the backward pass needs.
void Fsdp1Unit::post_forward() {
    if (in_backward_ || !has_parameters()) return;
    std::vector<Fsdp1Unit*>& order = shared_.post_forward_order;
    if (post_forward_index_.value_or(0) == 0) post_forward_index_ = order.size();
    order.push_back(this);
    reshard(is_cut() && !is_root_ && !keeps_whole(), true);
}

void Fsdp1Unit::expect_backward(const Tensor& output) {
    if (!shared_.session.grad_enabled) return;
    needs_whole_ = false;
    ran_backward_ = false;
    if (!output.requires_grad()) return;
    on_gradient(output, [this] { pre_backward(); });
    needs_whole_ = has_parameters();
}

void Fsdp1Unit::leave_with(const Tensor& input) {
    if (!shared_.session.grad_enabled || flat_.requires_grad() || left_registered_) return;
    left_registered_ = true;
    if (!input.requires_grad()) return;
    held_ = on_gradient(input, [this] {
        in_backward_ = false;
        post_backward_reshard();
    });
}

void Fsdp1Unit::pre_backward() {
    if (ran_backward_) return;
    Session& session = shared_.session;
    if (on_first_backward) on_first_backward();
    if (!has_parameters()) return;
    in_backward_ = true;
    if (needs_whole_) {
        if (!is_prefetched_) unshard(false);
        session.streams.wait(session.recorder.stream, Fsdp1Streams::kUnshard);
    }
    needs_whole_ = false;
    if (shared_.plan.backward_prefetch == BackwardPrefetch::pre) prefetch_backward();
    ran_backward_ = true;
}

// _prefetch_handle: the unit that ran before this one.
void Fsdp1Unit::prefetch_backward() {
    if (post_forward_index_.value_or(0) == 0) return;
    Fsdp1Unit& next = *shared_.post_forward_order[*post_forward_index_ - 1];
    if (!next.needs_whole_ || next.is_prefetched_) return;
    next.unshard(false);
    next.is_prefetched_ = true;
}

void Fsdp1Unit::post_backward_reshard() {
    reshard(frees_in_backward());
    if (shared_.plan.backward_prefetch == BackwardPrefetch::post) prefetch_backward();
}

// _post_backward_hook. It runs on the stream on which the flat parameter was split.
void Fsdp1Unit::post_backward() {
    Session& session = shared_.session;
    in_backward_ = false;
    post_backward_reshard();
    if (shared_.plan.use_orig_params)
        for (Parameter& p : parameters_) p.view.reset();
    if (!shared_.reduces) return keep_gradient();
    session.streams.wait(Fsdp1Streams::kPostBackward, session.recorder.stream);
    const OnStream stream(session.recorder, Fsdp1Streams::kPostBackward);
    const Scoped<Category> fresh(session.recorder.fresh, Category::gradients);
    is_cut() ? reduce() : reduce_uncut();
}

// _catch_all_reshard, _finalize_params.
void Fsdp1Unit::finish_backward() {
    if (!has_parameters()) return;
    if (uses_whole_) reshard(frees_in_backward());
    if (shared_.reduces && saved_gradient_.defined()) {
        const Tensor gradient = std::exchange(saved_gradient_, {});
        flat_->grad = shared_.plan.cpu_offload ? host_tensor(shared_.session, gradient.sizes(), gradient.dtype()).ref()
                                               : gradient.ref();
    }
    left_registered_ = false;
    held_.reset();
    ran_backward_ = false;
    needs_whole_ = false;
    post_forward_index_.reset();
    is_prefetched_ = false;
    in_backward_ = false;
}

void Fsdp1Unit::forget_gradient() {
    if (!shared_.plan.use_orig_params || !has_parameters()) return;
    const bool any = std::any_of(parameters_.begin(), parameters_.end(),
                                 [](const Parameter& p) { return static_cast<bool>(p.original->grad); });
    if (!any) flat_->grad.reset();
}

void Fsdp1Unit::append_gradients(std::vector<Tensor>& gradients) const {
    if (!has_parameters()) return;
    if (!shared_.plan.use_orig_params) {
        if (flat_->grad) gradients.push_back(flat_.grad());
        return;
    }
    for (const Parameter& p : parameters_)
        if (p.original->grad) gradients.push_back(p.original.grad());
}

}  // namespace vramfit::model
