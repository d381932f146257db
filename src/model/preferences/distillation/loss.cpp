// trl 1.16 experimental/gkd/gkd_trainer.py GKDTrainer.compute_loss, generalized_jsd_loss; torch 2.11
// ATen/native/Loss.cpp kl_div_log_target.
#include "model/preferences/distillation/loss.hpp"

#include <utility>
#include <vector>

#include "engine/ops/copy.hpp"
#include "engine/ops/logsumexp.hpp"
#include "engine/ops/nonzero.hpp"
#include "engine/ops/pointwise.hpp"
#include "engine/ops/reduce.hpp"
#include "engine/ops/shape.hpp"
#include "engine/ops/softmax.hpp"
#include "engine/ops/unary.hpp"
#include "engine/ops/view.hpp"
#include "model/causal_lm/mixed_precision.hpp"
#include "model/preferences/reference.hpp"
#include "model/preferences/rows.hpp"
#include "model/second/second_network.hpp"

namespace vramfit::model {

using namespace engine;

namespace {

/// exp(target) * (target - input).
Tensor kl_div(const Tensor& input, const Tensor& target) {
    const Tensor difference = sub(target, input);
    const Tensor likelihood = exp(target);
    return mul(likelihood, difference);
}

/// What the function holds of a mixture until it returns.
struct Mixture {
    Tensor beta, log_probs, of_teacher, of_student;
};

/// beta * kl_teacher + (1 - beta) * kl_student.
Tensor divergence_from_mixture(const Run& run, const Tensor& student, const Tensor& teacher, Mixture& held) {
    held.beta = moved(run, {}, student.dtype());
    {
        Tensor by_student, by_teacher;
        {
            const Tensor rest = [&] {
                const Tensor negative = neg(held.beta);
                return log1p(negative);
            }();
            by_student = add(student, rest);
        }
        {
            const Tensor part = log(held.beta);
            by_teacher = add(teacher, part);
        }
        std::vector<Tensor> parts = {std::move(by_student), std::move(by_teacher)};
        const Tensor both = stack(parts, 0);
        while (!parts.empty()) parts.pop_back();
        held.log_probs = logsumexp_over_first(both);
    }
    held.of_teacher = kl_div(held.log_probs, teacher);
    held.of_student = kl_div(held.log_probs, student);
    const Tensor first = mul(held.beta, held.of_teacher);
    const Tensor second = [&] {
        const Tensor rest = subtracted_from_number(held.beta);
        return mul(rest, held.of_student);
    }();
    return add(first, second);
}

/// generalized_jsd_loss of shifted logits; `labels` -- [B, S - 1].
Tensor jensen_shannon_loss(const Run& run, const Tensor& student_view, const Tensor& teacher_view, const Tensor& labels,
                           const Size& scored, const Tensor& items) {
    const double beta = run.plan.distillation.beta;
    Tensor student_logits = div(student_view, 1.0);
    Tensor teacher_logits = div(teacher_view, 1.0);
    Tensor student = log_softmax(student_logits, false);
    Tensor teacher = log_softmax(teacher_logits, false);
    Mixture held;
    Tensor divergence = beta == 0   ? kl_div(student, teacher)
                        : beta == 1 ? kl_div(teacher, student)
                                    : divergence_from_mixture(run, student, teacher, held);
    Tensor mask = compare(Op::ne, labels);
    divergence = index_by_mask(divergence, mask, scored);
    const Tensor sum = sum_all(divergence);
    return div(sum, items);
}

}  // namespace

Tensor distillation_loss(const Run& run, const Network& student, const Batch& batch, const Tensor& items,
                         const Place& place) {
    Session& session = run.session;
    Batch inputs;
    inputs.input_ids = batch.input_ids;
    inputs.attention_mask = batch.attention_mask;
    inputs.padded = batch.padded;
    Tensor loss;
    {
        const Output of_student = prepared_forward(run, student, inputs, {}, place);
        begin_loss(run, place);
        Output of_teacher;
        {
            const WithinPhase phase(session, phase_at(PhaseKind::teacher_forward, place));
            const RunSizes sizes{inputs.input_ids.size(0), inputs.input_ids.size(1), 0};
            of_teacher =
                evaluated(run, *run.evaluated_networks->teacher, sizes, [&](const Run& asked, const Network& teacher) {
                    return prepared_forward(asked, teacher, inputs, {}, {});
                });
        }
        begin_loss(run, place);
        const Size length = inputs.input_ids.size(1);
        const auto shifted = [&](const Tensor& logits) { return whole(slice(logits, 1, 0, length - 1), 2); };
        loss = jensen_shannon_loss(run, shifted(of_student.logits), shifted(of_teacher.logits),
                                   slice(batch.labels, -1, 1, length), batch.scored, items);
        session.recorder.empty_cache();
    }
    return loss;
}

}  // namespace vramfit::model
