// trl 1.16 trainer/grpo_trainer.py, rloo_trainer.py: self._metrics; trainer/utils.py nanmin, nanmax.
#include "model/preferences/grpo/group_metrics.hpp"

#include "engine/ops/clamp.hpp"
#include "engine/ops/copy.hpp"
#include "engine/ops/nonzero.hpp"
#include "engine/ops/pointwise.hpp"
#include "engine/ops/reduce.hpp"
#include "engine/ops/shape.hpp"
#include "engine/ops/view.hpp"
#include "model/preferences/metrics.hpp"
#include "model/preferences/rows.hpp"

namespace vramfit::model {

using namespace engine;

namespace {

/// (t * mask).sum().
Tensor sum_of_product(const Tensor& t, const Tensor& mask) {
    const Tensor masked = mul(t, mask);
    return sum_all(masked);
}

/// mask.sum().float().
Tensor count_of_mask(const Tensor& mask) {
    const Tensor all = sum_all(mask);
    return to(all, DType::float32);
}

void read_quotient(const Tensor& totals) {
    const Tensor tokens = clamp(select(totals, 0));
    read_item(div(select(totals, 0), tokens));
}

}  // namespace

bool has_one_value(const Tensor& t) { return t.session().decide("one value of a row", t.size(1) == 1); }

void read_global_mean(const Run& run, const Tensor& t, const Tensor& mask) {
    const bool one = has_one_value(t);
    const Tensor sum = one ? sum_all(t) : sum_of_product(t, mask);
    const Tensor count = one ? moved(run, {}, DType::float32) : count_of_mask(mask);
    const Tensor totals = [&] {
        const Tensor parts[2] = {sum, count};
        const Tensor both = stack(parts, 0);
        return summed_over_ranks(run, both);
    }();
    read_quotient(totals);
}

Tensor read_mean_of_list(const Run& run, const Tensor& t, const Tensor& mask) {
    const Tensor totals = [&] {
        const Tensor both = [&] {
            const Tensor parts[2] = {sum_of_product(t, mask), count_of_mask(mask)};
            return stack(parts, 0);
        }();
        return summed_over_ranks(run, both);
    }();
    read_quotient(totals);
    return totals;
}

void read_extreme(const Tensor& t, Op op) {
    {
        Tensor nan = compare(Op::ne, t);
        const Tensor all = reduce(nan, 1, false, DType::boolean, Op::all);
        nan.reset();
        t.session().streams.host_waits(0);
    }
    const Tensor picked = [&] {
        const Tensor numbers = [&] {
            const Tensor nan = compare(Op::ne, t);
            return compare(Op::bitwise_not, nan);
        }();
        if (t.dim() > 0) return index_by_mask(t, numbers, t.size(0));
        const Tensor place =
            zeros(t.session(), {1}, DType::int64);  // of a number that accelerator.gather left as it is
        return empty(t.session(), {1}, t.dtype(), Op::index);
    }();
    read_item(reduce(picked, 1, false, t.dtype(), op));
}

}  // namespace vramfit::model
