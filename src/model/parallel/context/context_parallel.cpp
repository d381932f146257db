// transformers 5.17 trainer.py _prepare_context_parallel_inputs, torch 2.11 distributed/tensor/experimental/
// _context_parallel/_attention.py context_parallel, _context_parallel_buffers.
#include "model/parallel/context/context_parallel.hpp"

#include <algorithm>

#include "engine/ops/copy.hpp"
#include "engine/ops/loss.hpp"
#include "engine/ops/view.hpp"
#include "engine/session.hpp"

namespace vramfit::model {

using namespace engine;

std::optional<Ring> ring_of(const TrainPlan& plan) {
    const Fsdp2Plan* const fsdp = plan.distributed ? plan.distributed->as<Fsdp2Plan>() : nullptr;
    if (!fsdp || fsdp->context.size == 1) return std::nullopt;
    // accelerate 1.15 parallelism_config.py _get_mesh: dp_shard, then cp.
    return Ring{fsdp->context.size, plan.distributed->rank % fsdp->context.size, fsdp->context.gathers};
}

// The i-th process has the i-th part of the front and of the back; the padded eighth is at one of the two ends.
bool sees_padding(const TrainPlan& plan) {
    const AttentionMask mask = plan.batch.attention_mask;
    if (mask != AttentionMask::left_padded && mask != AttentionMask::right_padded) return false;
    const std::optional<Ring> ring = ring_of(plan);
    if (!ring) return true;
    const std::int64_t padded = std::max<std::int64_t>(1, plan.batch.sequence_length / 8);
    return ring->rank * (plan.batch.sequence_length / (2 * ring->size)) < padded;
}

namespace {

/// buffer.resize_(shard.shape): the memory stays, unless it is too small (positions have one row until then).
Tensor resized(const Tensor& buffer, const Tensor& shard) {
    Session& session = buffer.session();
    if (!session.decide("positions grow", shard.numel() > buffer.numel()))
        return alias(buffer, shard.sizes(), shard.strides());
    return empty(session, shard.sizes(), buffer.dtype(), Op::empty);
}

/// _context_parallel_buffers: rows are put into the order of the processes, and this one's part is copied.
Tensor cut(const Tensor& buffer, const Dims& whole, const Ring& ring) {
    Dims part = whole;
    part[1] = whole[1] / ring.size;
    const Tensor ordered = empty(buffer.session(), whole, DType::int64, Op::gather);
    return empty(buffer.session(), part, DType::int64, Op::clone);
}

}  // namespace

CutBatch::CutBatch(const Run& run, Batch& batch) {
    const std::optional<Ring> ring = ring_of(run.plan);
    if (!ring) return;
    Session& session = run.session;
    const Dims whole = batch.input_ids.sizes();
    {
        const Tensor padded = pad_last(batch.labels, 1);
        batch.shift_labels = contiguous(slice(padded, -1, 1, padded.size(-1)));
        batch.position_ids = arange(session, whole[1]);
    }
    Tensor* const buffers[] = {&batch.input_ids, &batch.labels, &batch.shift_labels, &batch.attention_mask,
                               &batch.position_ids};
    {
        const Tensor order = empty(session, {whole[1]}, DType::int32, Op::to_copy);
        for (const Tensor* buffer : buffers)
            if (buffer->defined()) shards_.push_back(cut(*buffer, whole, *ring));
    }
    std::size_t i = 0;
    for (Tensor* buffer : buffers) {
        if (!buffer->defined()) continue;
        last_.reset();
        last_ = clone(shards_[i++]);
        *buffer = resized(*buffer, last_);
    }
}

}  // namespace vramfit::model
