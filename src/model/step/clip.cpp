// torch 2.2 torch/nn/utils/clip_grad.py clip_grad_norm_, 2.11 _get_total_norm and _clip_grads_with_norm_, and
// ATen/native/cuda/ForeachReduceOp.cu.
#include "model/step/clip.hpp"

#include <algorithm>

#include "engine/ops/copy.hpp"
#include "engine/ops/pointwise.hpp"
#include "engine/ops/reduce.hpp"
#include "engine/ops/view.hpp"
#include "model/step/optimizer.hpp"
#include "vramfit/base/checked.hpp"

namespace vramfit::model {

using namespace engine;

namespace {

constexpr std::int64_t kChunk = 65536;  // ATen/native/cuda/MultiTensorApply.cuh kChunkSize

/// As many numbers for each tensor as the largest has chunks; from torch 2.15 on where each tensor's chunks begin, and
/// a number for each.
std::vector<Tensor> norm_scratch(Session& session, const std::vector<Tensor>& grads,
                                 const std::vector<std::size_t>& group) {
    const auto count = static_cast<std::int64_t>(group.size());
    Size most = 1, all = 0;
    for (const std::size_t i : group) {
        const Size chunks = ceil_div(grads[i].numel(), kChunk);
        most = larger(most, chunks);
        all = all + chunks;
    }
    if (!session.stack.foreach_norms_pack_chunks()) return {zeros(session, {count * most}, DType::float32)};
    const Tensor begins = empty(session, {count + 1}, DType::int64, Op::to_copy);
    return {begins, empty(session, {all}, DType::float32, Op::foreach_norm)};
}

/// foreach_tensor_norm_cuda: a scratch of one number for each chunk of each tensor, one result for each tensor. What is
/// empty (rows that this process has none of) gets a zero of its own instead.
void foreach_norm(Session& session, const std::vector<Tensor>& grads, const std::vector<std::size_t>& group,
                  std::vector<Tensor>& norms) {
    const auto count = static_cast<std::int64_t>(group.size());
    const DType dtype = grads[group[0]].dtype();
    const std::vector<Tensor> scratch = norm_scratch(session, grads, group);
    if (session.stack.foreach_norms_share_storage()) {
        const Tensor all = empty(session, {count}, dtype, Op::foreach_norm);
        for (std::int64_t i = 0; i < count; ++i) norms.push_back(select(all, 0));
        return;
    }
    std::vector<Tensor> results;
    for (std::int64_t i = 0; i < count; ++i) results.push_back(empty(session, {}, dtype, Op::foreach_norm));
    for (std::size_t i = 0; i < group.size(); ++i)
        norms.push_back(same(grads[group[i]].numel(), 0) ? zeros(session, {}, dtype) : results[i]);
}

/// distributed/tensor placement_types.py and _ops/_math_ops.py _NormPartial: from norms of shards to those of whole
/// parameters: powers, their sum over the ranks, its root.
Tensor whole_norms(const Tensor& of_shards) {
    Tensor sums;
    {
        const Tensor powers = pointwise_result(of_shards, of_shards.dtype(), Op::pow);
        sums = clone(powers);
        sums = pointwise_result(sums, sums.dtype(), Op::pow);
    }
    return sums;
}

/// torch.linalg.vector_norm(torch.stack(norms)): stack promotes.
Tensor norm_of(Session& session, const std::vector<Tensor>& norms, bool sharded) {
    Tensor widest = norms[0];
    for (const Tensor& n : norms)
        if (result_type(widest, n) != widest.dtype()) widest = n;
    const Tensor stacked = empty(session, {static_cast<std::int64_t>(norms.size())}, widest.dtype(), Op::cat);
    const Tensor each = sharded ? whole_norms(stacked) : stacked;
    return reduce(each, 1, false, widest.dtype(), Op::linalg_vector_norm);
}

}  // namespace

Tensor clip_grad_norm(Session& session, const std::vector<NamedParameter>& parameters, bool sharded) {
    const GradMode no_grad(session, false);
    std::vector<Tensor> grads;
    for (const NamedParameter& p : parameters)
        if ((*p.tensor)->grad) grads.push_back(p.tensor->grad());
    if (grads.empty()) return {};
    std::vector<Tensor> norms;
    for (const auto& group : positions_by_dtype(session, grads)) foreach_norm(session, grads, group, norms);
    const Tensor total = norm_of(session, norms, sharded);
    // Where the norm has a function of its own, the single norms end with it.
    if (!session.stack.clip_keeps_norms()) norms.clear();
    Tensor coefficient = add(total, 1e-6);
    {
        const Tensor inverse = reciprocal(coefficient);
        coefficient = mul(inverse, 1.0);
    }
    const Tensor clamped = clamp(coefficient);
    return total;
}

}  // namespace vramfit::model
