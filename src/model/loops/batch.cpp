// The batches of transformers' default collator, and of a loop that moves one dictionary.
#include "model/loops/batch.hpp"

#include "engine/ops/copy.hpp"

namespace vramfit::model {

using namespace engine;

// accelerate data_loader.py DataLoaderShard, utils/operations.py send_to_device: key by key. A collator stacks rows,
// so that labels are a tensor of their own. The plain loop moves an object that stands there twice twice, and keeps
// one.
Batch fetch_batch(const Run& run, Size length) {
    const BatchPlan& plan = run.plan.batch;
    const Dims shape{run.sizes.batch, length > 0 ? length : run.sizes.length};
    const Tensor host = host_tensor(run.session, shape, DType::int64);
    const bool shared = plan.labels == Labels::same_tensor && run.plan.loop.kind == LoopKind::plain;
    Batch batch;
    const auto moved = [&] {
        Tensor out = to_device(host);
        run.session.streams.host_waits(0);  // non_blocking is false
        return out;
    };
    batch.input_ids = moved();
    if (run.plan.load.num_labels > 0 && !run.plan.load.labels_tokens) {
        // A single label is a number.
        const DType dtype = run.plan.load.num_labels == 1 ? DType::float32 : DType::int64;
        batch.labels = to_device(host_tensor(run.session, {run.sizes.batch}, dtype));
        run.session.streams.host_waits(0);
    } else if (plan.labels != Labels::absent) {
        batch.labels = moved();
    }
    if (shared) batch.input_ids = batch.labels;
    if (plan.attention_mask != AttentionMask::absent) batch.attention_mask = moved();
    return batch;
}

}  // namespace vramfit::model
