// torch 2.11 torch/nn/utils/clip_grad.py (_get_total_norm, _clip_grads_with_norm_), ATen/native/cuda/ForeachReduceOp.cu.
#include "model/clip.hpp"

#include <algorithm>
#include <map>

#include "engine/ops/copy.hpp"
#include "engine/ops/pointwise.hpp"
#include "engine/ops/reduce.hpp"
#include "vramfit/base/checked.hpp"

namespace vramfit::model {

using namespace engine;

namespace {

constexpr std::int64_t kChunk = 65536;  // ATen/native/cuda/MultiTensorApply.cuh kChunkSize

/// foreach_tensor_norm_cuda: a scratch of one number for each chunk of each tensor, one result for each tensor.
std::vector<Tensor> foreach_norm(Session& session, const std::vector<Tensor>& tensors) {
    std::int64_t chunks = 1;
    for (const Tensor& t : tensors) chunks = std::max(chunks, ceil_div(t.numel(), kChunk));
    const Tensor scratch =
        zeros(session, {static_cast<std::int64_t>(tensors.size()) * chunks}, DType::float32);
    std::vector<Tensor> out;
    for (const Tensor& t : tensors) out.push_back(empty(session, {}, t.dtype(), Op::foreach_norm));
    return out;
}

}  // namespace

Tensor clip_grad_norm(Session& session, const std::vector<NamedParameter>& parameters) {
    const GradMode no_grad(session, false);
    std::map<DType, std::vector<Tensor>> grads;
    for (const NamedParameter& p : parameters)
        if ((*p.tensor)->grad) grads[p.tensor->dtype()].push_back(p.tensor->grad());
    if (grads.empty()) return {};
    Tensor total;
    {
        std::vector<Tensor> norms;
        for (const auto& [dtype, tensors] : grads)
            for (Tensor& n : foreach_norm(session, tensors)) norms.push_back(n);
        DType dtype = norms[0].dtype();
        for (const Tensor& n : norms) dtype = result_type(norms[0], n);
        const Tensor stacked = empty(session, {static_cast<std::int64_t>(norms.size())}, dtype, Op::cat);
        total = reduce(stacked, 1, false, dtype, Op::linalg_vector_norm);
    }
    Tensor coefficient = add(total, 1e-6);
    {
        const Tensor inverse = reciprocal(coefficient);
        coefficient = mul(inverse, 1.0);
    }
    const Tensor clamped = clamp(coefficient);
    return total;
}

}  // namespace vramfit::model
