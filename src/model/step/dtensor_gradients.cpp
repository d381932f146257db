// transformers 5.17 trainer.py and trainer_optimizer.py: gradients of DTensors beside those of plain tensors.
#include "model/step/dtensor_gradients.hpp"

#include <algorithm>
#include <vector>

#include <fmt/format.h>

#include "engine/ops/copy.hpp"
#include "engine/ops/pointwise.hpp"
#include "engine/ops/reduce.hpp"
#include "engine/session.hpp"
#include "model/parallel/tensor/tensor_parallel.hpp"
#include "vramfit/base/error.hpp"

namespace vramfit::model {

using namespace engine;

namespace {

/// Kernels over many tensors take either kind, and bitsandbytes' none that is cut. Only trainer_optimizer.py
/// _get_adamw_torch steps one by one.
void check_mixed(const TrainingPlan& training) {
    if (training.fp16)
        throw Error(ErrorKind::invalid, "training.fp16",
                    "torch stops: the scaler finds gradients in pieces beside whole ones "
                    "(aten._amp_foreach_non_finite_check_and_unscale_ got mixed torch.Tensor and DTensor)",
                    "--mixed-precision bf16 (training.bf16)");
    if (training.optim != "adamw_torch" && training.optim != "adamw_torch_fused")
        throw Error(ErrorKind::invalid, "training.optim",
                    fmt::format("torch stops: {} finds weights in pieces beside whole ones (got mixed torch.Tensor and "
                                "DTensor)",
                                training.optim),
                    "adamw_torch or adamw_torch_fused, which are the same there");
}

}  // namespace

bool trains_mixed(const Run& run, Network& network) {
    if (!is_tensor_parallel(run.plan)) return false;
    const std::vector<NamedParameter> trained = trainable_parameters(network);
    const auto is_dtensor = [](const NamedParameter& p) { return p.is_dtensor; };
    const bool is_mixed = std::any_of(trained.begin(), trained.end(), is_dtensor) &&
                          !std::all_of(trained.begin(), trained.end(), is_dtensor);
    if (is_mixed) check_mixed(run.plan.training);
    return is_mixed;
}

namespace {

/// torch.linalg.vector_norm(torch.stack([g.norm(2) for g in gradients])) ** 2, which takes the place of a zero.
Tensor squared_norm(Session& session, const std::vector<Tensor>& gradients) {
    Tensor squared = zeros(session, {}, DType::float32);
    if (gradients.empty()) return squared;
    Tensor norm;
    {
        Tensor stacked;
        {
            std::vector<Tensor> norms;
            for (const Tensor& g : gradients)
                norms.push_back(reduce(g, (1u << g.dim()) - 1u, false, g.dtype(), Op::linalg_vector_norm));
            const auto count = static_cast<std::int64_t>(norms.size());
            const bool alike = std::all_of(norms.begin(), norms.end(),
                                           [&](const Tensor& other) { return other.dtype() == norms[0].dtype(); });
            stacked = empty(session, {count}, alike ? norms[0].dtype() : DType::float32, Op::cat);
        }
        norm = reduce(stacked, 1, false, stacked.dtype(), Op::linalg_vector_norm);
    }
    squared = pointwise_result(norm, norm.dtype(), Op::pow);
    return squared;
}

}  // namespace

// transformers 5.17 trainer.py _clip_grad_norm, _get_grad_norm, _mixed_mesh_grad_norm.
Tensor clip_cut_gradients(const Run& run, Network& network) {
    Session& session = run.session;
    const GradMode no_grad(session, false);
    std::vector<Tensor> whole, cut;
    for (const NamedParameter& p : trainable_parameters(network))
        if ((*p.tensor)->grad) (p.is_dtensor ? cut : whole).push_back(p.tensor->grad());
    const Tensor of_whole = squared_norm(session, whole);
    const Tensor of_cut = squared_norm(session, cut);
    Tensor total;
    {
        const Tensor sum = add(of_whole, of_cut);
        total = pointwise_result(sum, sum.dtype(), Op::sqrt);
    }
    if (run.plan.training.max_grad_norm <= 0) return total;
    Tensor clip;
    {
        Tensor inverse;
        {
            const Tensor shifted = add(total, 1e-6);
            const Tensor reciprocals = reciprocal(shifted);
            inverse = mul(reciprocals, 1.0);
        }
        clip = clamp(inverse);
    }
    return total;
}

}  // namespace vramfit::model
