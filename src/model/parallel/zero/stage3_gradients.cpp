// deepspeed 0.19.8 runtime/zero/stage3.py, runtime/comm/coalesced_collectives.py.
#include "model/parallel/zero/stage3_gradients.hpp"

#include <algorithm>

#include "engine/ops/copy.hpp"
#include "engine/ops/pointwise.hpp"
#include "engine/ops/reduce.hpp"
#include "engine/session.hpp"
#include "model/network/in_module.hpp"
#include "model/network/shared_module.hpp"
#include "model/parallel/zero/norms.hpp"
#include "model/parallel/zero/zero.hpp"

namespace vramfit::model {

using namespace engine;

namespace {

constexpr std::uint8_t kReduceAndPartition = 1;

}  // namespace

Stage3Gradients::Stage3Gradients(const Run& run, Partitions& partitions) : run_(run), partitions_(partitions) {
    const ZeroPlan& zero = *zero_of(run.plan);
    stream_ = zero.overlap_comm.value_or(true) ? kReduceAndPartition : std::uint8_t{0};
    bucket_size_ = sizes_of(zero, run.spec.hidden_size).bucket;
    contiguous_ = zero.contiguous_gradients;
    scatters_ = zero.reduce_scatter;
    offloads_ = zero.offload_optimizer;
}

void Stage3Gradients::set_up(const std::vector<std::size_t>& trained) {
    Session& session = run_.session;
    const Scoped<Category> fresh(session.recorder.fresh, Category::gradients);
    if (contiguous_) buffer_ = empty(session, {bucket_size_}, zero_dtype(run_));
    std::int64_t elements = 0;
    for (const std::size_t id : trained) elements += partitions_[id].in_piece;
    flat_ =
        offloads_ ? host_tensor(session, {elements}, zero_dtype(run_)) : zeros(session, {elements}, zero_dtype(run_));
    belongs_to(buffer_, reduce_bucket(session.recorder));
    belongs_to(flat_, partitions_.around(trained));
    norms_.resize(partitions_.all().size());
}

Tensor Stage3Gradients::averaged(std::size_t id) const { return alias(flat_, {partitions_[id].in_piece}, {1}); }

// reduce_independent_p_g_buckets_and_remove_grads, __add_grad_to_ipg_bucket.
void Stage3Gradients::on_gradient(std::size_t id) {
    Session& session = run_.session;
    const PartitionedParameter& p = partitions_[id];
    if (elements_ + p.elements > bucket_size_ && elements_ > 0) reduce();
    session.streams.wait(stream_, std::uint8_t{0});
    if (contiguous_ && elements_ + p.elements <= bucket_size_) {
        const Tensor gradient = p.tensor.grad();
        session.streams.launch(stream_);
        session.streams.record(gradient, stream_);
        set_data(gradient, alias(buffer_, p.sizes, contiguous_strides(p.sizes)));
    }
    bucket_.push_back(id);
    elements_ += p.elements;
}

// __reduce_and_partition_ipg_grads.
void Stage3Gradients::reduce() {
    if (bucket_.empty()) return;
    Session& session = run_.session;
    const Scoped<Category> fresh(session.recorder.fresh, Category::gradients);
    const Scoped<Module> module(session.recorder.module, reduce_bucket(session.recorder));
    reductions_.make_room(session.streams);
    const OnStream on(session.recorder, stream_);
    reduces_buffer() ? reduce_buffer() : scatter_gradients();
    bucket_.clear();
    elements_ = 0;
    reductions_.add(session.streams.now(stream_));
}

bool Stage3Gradients::reduces_buffer() const { return contiguous_ && !scatters_ && elements_ <= bucket_size_; }

// __avg_scatter_contiguous_grads: the buffer is reduced as a whole, and scaled by gradient_predivide_factor, which is
// 1.0, unless that is the number of processes; pieces that end before the others are padded.
void Stage3Gradients::reduce_buffer() {
    run_.session.streams.launch(stream_);
    Tensor scaled;
    if (partitions_.world() > 1) scaled = mul(alias(buffer_, {elements_}, {1}), 1.0);
    std::vector<Tensor> pieces;
    for (const std::size_t id : bucket_) {
        const std::int64_t in_piece = partitions_[id].in_piece;
        if (filled(id, partitions_.rank()) < in_piece)
            pieces.push_back(zeros(run_.session, {in_piece}, zero_dtype(run_)));
    }
    hand_over_all(true);
}

void Stage3Gradients::scatter_gradients() {
    std::sort(bucket_.begin(), bucket_.end());
    std::vector<Tensor> paddings;
    const Tensor flat = scattered(bucket_, paddings);
    paddings.clear();
    run_.session.streams.launch(stream_);
    hand_over_all(false);
}

/// Of a parameter's piece, the elements that are the parameter's and no padding.
std::int64_t Stage3Gradients::filled(std::size_t id, std::int64_t rank) const {
    const PartitionedParameter& p = partitions_[id];
    return std::clamp<std::int64_t>(p.elements - rank * p.in_piece, 0, p.in_piece);
}

// __avg_scatter_grads: gradients in another dtype than DeepSpeed's (adapters in float32) that are not in the buffer are
// cast. reduce_scatter_coalesced: pieces that belong to one process lie side by side, padded.
Tensor Stage3Gradients::scattered(const std::vector<std::size_t>& ids, std::vector<Tensor>& paddings) {
    const std::int64_t world = partitions_.world();
    std::vector<Tensor> gradients;
    for (const std::size_t id : ids) gradients.push_back(to(partitions_[id].tensor.grad(), zero_dtype(run_)));
    if (ids.size() == 1 && partitions_[ids[0]].elements % world == 0) return gradients[0];
    std::int64_t in_pieces = 0;
    for (std::int64_t rank = 0; rank < world; ++rank) {
        for (const std::size_t id : ids) {
            const std::int64_t in_piece = partitions_[id].in_piece, padding = in_piece - filled(id, rank);
            if (padding > 0) paddings.push_back(empty(run_.session, {padding}, zero_dtype(run_)));
            in_pieces += in_piece;
        }
    }
    return empty(run_.session, {in_pieces}, zero_dtype(run_), Op::cat);
}

void Stage3Gradients::hand_over_all(bool padded) {
    for (const std::size_t id : bucket_) hand_over(id, padded);
}

// partition_grads.
void Stage3Gradients::hand_over(std::size_t id, bool padded) {
    Session& session = run_.session;
    const PartitionedParameter& p = partitions_[id];
    if (const std::int64_t own = filled(id, partitions_.rank()); own > 0) {
        if (offloads_) {
            const std::int64_t elements = padded ? p.in_piece : own;
            const Tensor piece = to_device(host_tensor(session, {elements}, zero_dtype(run_)));
            offload(id, piece);
        }
        session.streams.record(p.tensor.grad(), stream_);
    }
    p.tensor->grad.reset();
}

// _offload_grad_partition_at_boundary, _constant_buffered_norm2.
void Stage3Gradients::offload(std::size_t id, const Tensor& piece) {
    if (!boundary_) return;
    constexpr std::int64_t kBufferSize = 250'000'000;
    const std::int64_t elements = count_of(piece);
    Tensor sum;
    for (std::int64_t begin = 0; begin < elements; begin += kBufferSize) {
        const Tensor part = alias(piece, {std::min(elements - begin, kBufferSize)}, {1});
        const Tensor norm = double_norm(part);
        const Tensor square = pointwise_result(norm, DType::float64, Op::pow);
        if (!sum.defined()) sum = square;
    }
    norms_[id] = pointwise_result(sum, DType::float64, Op::pow);
    sum.reset();
    const Tensor wide = to(piece, DType::float32);
}

void Stage3Gradients::epilogue() {
    reduce();
    run_.session.streams.host_waits(stream_);
}

// inf_or_nan_tracker is changed in place.
void Stage3Gradients::check_overflow() {
    Session& session = run_.session;
    Tensor flag;
    {
        const OnStream on(session.recorder, stream_);
        const auto any_of = [](const Tensor& flags) {
            return engine::reduce(flags, 1, false, DType::boolean, Op::any);
        };
        {
            Tensor infinite;
            {
                const Tensor magnitude = pointwise_result(flat_, flat_.dtype(), Op::abs);
                infinite = compare(Op::eq, magnitude);
            }
            const Tensor any = any_of(infinite);
        }
        {
            const Tensor not_a_number = compare(Op::ne, flat_);
            const Tensor any = any_of(not_a_number);
        }
        const Tensor tracker = empty(session, {1}, DType::boolean, Op::clone);
        flag = to(tracker, DType::uint8);
    }
    session.streams.wait(std::uint8_t{0}, stream_);
    session.streams.host_waits(0);
}

}  // namespace vramfit::model
