// unsloth 2026.10.7, utils/packing.py; unsloth_zoo 2026.10.7, loss_utils.py.
#include "model/unsloth/rows.hpp"

#include "engine/ops/copy.hpp"
#include "engine/ops/pointwise.hpp"
#include "engine/ops/reduce.hpp"
#include "engine/ops/view.hpp"

namespace vramfit::model {

using namespace engine;

Batch fetch_packed(const Run& run) {
    Session& session = run.session;
    const bool padded = !run.plan.unsloth.padding_free;
    const Dims tokens = padded ? Dims{run.sizes.batch, run.sizes.length} : Dims{1, run.sizes.batch * run.sizes.length};
    const auto moved = [&](const Dims& sizes, DType dtype) {
        Tensor out = to_device(host_tensor(session, sizes, dtype));
        session.streams.host_waits(0);
        return out;
    };
    Batch batch;
    batch.input_ids = moved(tokens, DType::int64);
    batch.labels = moved(tokens, DType::int64);
    if (padded) {
        batch.attention_mask = moved(tokens, DType::int64);
        return batch;
    }
    batch.position_ids = moved(tokens, DType::int64);
    batch.row_lengths = moved({run.sizes.batch}, DType::int32);
    return batch;
}

namespace {

/// The first token of each row but the first has no label.
Tensor count_of(const Run& run, const Batch& batch) {
    Session& session = run.session;
    const Tensor targets = slice(batch.labels, -1, 1, batch.labels.size(-1));
    Tensor labelled = compare(Op::ne, targets);
    if (!run.plan.unsloth.padding_free) {
        (void)compare(Op::ne, slice(batch.attention_mask, -1, 1, batch.attention_mask.size(-1)));
        return sum_all(labelled);
    }
    Tensor beginnings;
    if (!session.decide("one row", run.sizes.batch == 1)) {
        {
            const Tensor places = empty(session, {run.sizes.batch - 1}, DType::int64, Op::to_copy);
            beginnings = zeros(session, {batch.labels.numel()}, DType::boolean);
        }
        const Tensor others = compare(Op::bitwise_not, labelled);
        labelled = compare(Op::bitwise_and, labelled);
    }
    return sum_all(labelled);
}

}  // namespace

Tensor count_packed(const Run& run, const std::vector<Batch>& batches) {
    std::vector<Tensor> counts;
    for (const Batch& batch : batches) counts.push_back(count_of(run, batch));
    Tensor total;
    for (const Tensor& count : counts) total = total.defined() ? add(total, count) : add(count, 0);
    return sum_all(total);
}

}  // namespace vramfit::model
