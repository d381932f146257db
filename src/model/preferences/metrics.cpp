// trl 1.16 trainer/dpo_trainer.py, kto_trainer.py, reward_trainer.py: self._metrics.
#include "model/preferences/metrics.hpp"

#include "engine/ops/copy.hpp"
#include "engine/ops/nonzero.hpp"
#include "engine/ops/pointwise.hpp"
#include "engine/ops/reduce.hpp"
#include "engine/session.hpp"
#include "model/parallel/collectives.hpp"

namespace vramfit::model {

using namespace engine;

void read_item(const Tensor& t) { t.session().streams.host_waits(0); }
void read_sum(const Tensor& t) { read_item(sum_all(t)); }
void read_mean(const Tensor& t) { read_item(mean_all(t)); }

Tensor gathered(const Run& run, const Tensor& t) {
    if (!run.plan.distributed) return t;
    const std::int64_t world = run.plan.distributed->world_size;
    if (t.dim() == 0) return gather_scalar(t, world);
    Dims sizes = t.sizes();
    sizes[0] = sizes[0] * world;
    return empty(run.session, sizes, t.dtype(), Op::empty);
}

Tensor summed_over_ranks(const Run& run, const Tensor& t) {
    const Tensor out = clone(t);
    if (run.plan.distributed) all_reduce(out);
    return out;
}

void read_ratio(const Tensor& part, const Tensor& all) {
    read_item(compare(Op::gt, all));
    read_item(div(part, all));
}

Tensor sum_where(const Tensor& values, const Tensor& mask, const Size& count) {
    const Tensor picked = [&] {
        const Tensor labelled = to(mask, DType::boolean);
        return index_by_mask(values, labelled, count);
    }();
    return sum_all(picked);
}

}  // namespace vramfit::model
