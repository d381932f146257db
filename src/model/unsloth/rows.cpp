// unsloth 2026.10.7, utils/packing.py; unsloth_zoo 2026.10.7, loss_utils.py.
#include "model/unsloth/rows.hpp"

#include <algorithm>

#include "engine/ops/copy.hpp"
#include "engine/ops/pointwise.hpp"
#include "engine/ops/reduce.hpp"
#include "engine/ops/view.hpp"
#include "model/unsloth/unsloth.hpp"

namespace vramfit::model {

using namespace engine;

namespace {

/// The next rows of the data.
std::vector<RowsAlike> next_rows(const Run& run) {
    const std::vector<std::int64_t> lengths = row_lengths(run.plan);
    // Where sizes vary all rows are full, which needs the most.
    const bool varies = run.sizes.batch.is_symbolic() || run.sizes.length.is_symbolic();
    if (lengths.empty() || varies) return {{run.sizes.batch, run.sizes.length}};
    std::vector<RowsAlike> out;
    for (std::int64_t row = 0; row < run.plan.training.per_device_train_batch_size; ++row) {
        const auto at = static_cast<std::size_t>(run.unsloth->rows_read++) % lengths.size();
        if (out.empty() || out.back().length != Size(lengths[at])) out.push_back({0, lengths[at]});
        out.back().count = out.back().count + 1;
    }
    return out;
}

/// The sizes of a batch's token ids: rows that are filled up to the longest, or all tokens as one row.
Dims sizes_of_tokens(const std::vector<RowsAlike>& rows, bool padded) {
    Size count = 0, longest = 0, all = 0;
    for (const RowsAlike& some : rows) {
        count = count + some.count;
        all = all + some.count * some.length;
        longest = rows.size() == 1 ? some.length : Size(std::max(longest.value(), some.length.value()));
    }
    return padded ? Dims{count, longest} : Dims{1, all};
}

}  // namespace

Batch fetch_packed(const Run& run) {
    Session& session = run.session;
    const bool padded = !run.plan.unsloth.padding_free;
    std::vector<RowsAlike> rows = next_rows(run);
    const Dims tokens = sizes_of_tokens(rows, padded);
    const auto moved = [&](const Dims& sizes, DType dtype) {
        Tensor out = to_device(host_tensor(session, sizes, dtype));
        session.streams.host_waits(0);
        return out;
    };
    Batch batch;
    for (const RowsAlike& some : rows) batch.scored = batch.scored + some.count * (some.length - 1);
    batch.input_ids = moved(tokens, DType::int64);
    batch.labels = moved(tokens, DType::int64);
    if (padded) {
        batch.attention_mask = moved(tokens, DType::int64);
        return batch;
    }
    batch.position_ids = moved(tokens, DType::int64);
    batch.row_lengths = moved({run.sizes.batch}, DType::int32);
    batch.rows_alike = std::move(rows);
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

/// _unsloth_get_batch_samples: a count with what is the matter with its labels, from all processes.
Tensor counted_everywhere(const Tensor& count, std::int64_t world) {
    Session& session = count.session();
    const Tensor flags = empty(session, {2}, DType::int64, Op::to_copy);
    Tensor all;
    {
        const Tensor own = empty(session, {3}, DType::int64, Op::cat);
        all = empty(session, {world, 3}, DType::int64, Op::empty);
    }
    Tensor total = sum_all(slice(all, 1, 0, 1));
    (void)empty(session, {}, DType::boolean, Op::any);
    (void)empty(session, {}, DType::boolean, Op::all);
    return total;
}

}  // namespace

Tensor count_packed(const Run& run, const std::vector<Batch>& batches) {
    std::vector<Tensor> counts;
    for (const Batch& batch : batches) counts.push_back(count_of(run, batch));
    Tensor total;
    for (const Tensor& count : counts) total = total.defined() ? add(total, count) : add(count, 0);
    return run.plan.distributed ? counted_everywhere(total, run.plan.distributed->world_size) : sum_all(total);
}

}  // namespace vramfit::model
