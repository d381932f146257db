// trl 1.16 trainer/grpo_trainer.py GRPOTrainer._generate_and_score_completions.
#include "model/preferences/grpo/vllm.hpp"

#include "engine/ops/clamp.hpp"
#include "engine/ops/copy.hpp"
#include "engine/ops/nonzero.hpp"
#include "engine/ops/pointwise.hpp"
#include "engine/ops/reduce.hpp"
#include "engine/ops/unary.hpp"
#include "engine/ops/view.hpp"
#include "model/preferences/grpo/group_metrics.hpp"
#include "model/preferences/grpo/rewards.hpp"
#include "model/preferences/metrics.hpp"

namespace vramfit::model {

using namespace engine;

namespace {

bool of_sequences(SamplingCorrectionMode mode) {
    return mode == SamplingCorrectionMode::sequence_mask || mode == SamplingCorrectionMode::sequence_truncate;
}

bool masks(SamplingCorrectionMode mode) {
    return mode == SamplingCorrectionMode::sequence_mask || mode == SamplingCorrectionMode::token_mask;
}

/// A number of all tokens, or of all rows.
Tensor over_all(const Tensor& t, Op op) { return reduce(t, 1, false, t.dtype(), op); }

}  // namespace

void correct_for_sampling(const Run& run, const Tensor& policy, const Tensor& sampled, const Tensor& mask,
                          SamplingCorrection& out) {
    {
        const Tensor masked = [&] {
            const Tensor difference = sub(policy, sampled);
            return mul(difference, mask);
        }();
        out.difference = run.stack.grpo_may_have_no_sampled_score()
                             ? pointwise_result(masked, DType::float32, Op::nan_to_num)
                             : masked;
    }
    const GrpoPlan& how = run.plan.preference.grpo;
    const bool rows = of_sequences(how.correction);
    if (rows) out.of_rows = sum_dim(out.difference, -1, true, DType::float32);
    out.ratio = exp(rows ? out.of_rows : out.difference);
    if (!masks(how.correction)) {
        out.ratio = clamp_both(out.ratio);
        return;
    }
    {
        const Tensor low = compare(Op::lt, out.ratio);
        const Tensor high = compare(Op::gt, out.ratio);
        out.invalid = compare(Op::bitwise_or, low, high);
    }
    out.ratio = masked_fill(out.ratio, out.invalid);
}

void log_correction(const Run& run, const Tensor& policy, const Tensor& sampled, const Tensor& mask, const Size& count,
                    SamplingCorrection& held) {
    Tensor delta = [&] {
        const Tensor difference = sub(policy, sampled);
        return abs(difference);
    }();
    held.mask = to(mask, DType::boolean);
    if (!run.stack.grpo_may_have_no_sampled_score()) {
        delta = index_by_mask(delta, held.mask, count);
    } else {
        const Tensor scored = [&] {
            const Tensor is_number = [&] {
                const Tensor nan = compare(Op::ne, delta);
                return compare(Op::bitwise_not, nan);
            }();
            return compare(Op::bitwise_and, held.mask, is_number);
        }();
        delta = index_by_mask(delta, scored, count);
    }
    held.mean_difference = over_all(delta, Op::mean);
    held.most_difference = over_all(delta, Op::max);
    read_mean(gathered(run, held.mean_difference));
    read_item(reduce(gathered(run, held.most_difference), 1, false, DType::float32, Op::max));
    held.picked = of_sequences(run.plan.preference.grpo.correction) ? view(held.ratio, {held.ratio.size(0)})
                                                                    : index_by_mask(held.ratio, held.mask, count);
    held.least = over_all(held.picked, Op::min);
    held.mean = over_all(held.picked, Op::mean);
    held.most = over_all(held.picked, Op::max);
    read_extreme(gathered(run, held.least), Op::min);
    read_item(nanmean_over(gathered(run, held.mean), 1, false));
    read_extreme(gathered(run, held.most), Op::max);
}

}  // namespace vramfit::model
