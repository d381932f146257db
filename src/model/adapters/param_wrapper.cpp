// peft 0.20 and 0.21.2 tuners/lora/layer.py ParamWrapper, torch 2.11 nn/utils/parametrize.py.
#include "model/adapters/param_wrapper.hpp"

#include <cmath>

#include "engine/autocast.hpp"
#include "engine/ops/baddbmm.hpp"
#include "engine/ops/copy.hpp"
#include "engine/ops/matmul.hpp"
#include "engine/ops/pointwise.hpp"
#include "engine/ops/view.hpp"
#include "engine/session.hpp"

namespace vramfit::model {

using namespace engine;

namespace {

/// weight_B.reshape(out, r, experts).permute(2, 0, 1).
Tensor permuted_b(const Tensor& b, Size experts) {
    const Tensor by_expert = reshape(b, {b.size(0), -1, experts});
    return transpose(transpose(by_expert, 0, 2), 1, 2);
}

/// torch 2.11 ATen/native/Linear.cpp einsum: nothing is summed over a dimension of one. b -- [E, out, 1], a -- [E, in,
/// 1].
Tensor product_of_one(const Tensor& b, const Tensor& a) {
    const Tensor whole = mul(unsqueeze(b, 2), unsqueeze(a, 1));
    return reshape(whole, {whole.size(0), whole.size(1), whole.size(2)});
}

/// peft 0.20 get_delta_weight: torch.einsum("o r e, e r i -> e o i", B, A) * scaling; autocast casts einsum's operands.
Tensor product_by_expert(const ParameterAdapter& adapter, Size experts, bool transposed) {
    const Tensor a_by_expert = reshape(adapter.a, {experts, -1, adapter.a.size(-1)});
    const Tensor b_by_expert = reshape(adapter.b, {adapter.b.size(0), -1, experts});
    const Tensor b = autocast_to_lower(b_by_expert);
    const Tensor a = autocast_to_lower(a_by_expert);
    const Tensor by_row = transpose(transpose(b, 0, 2), 1, 2);  // [E, out, r]
    const bool is_sum = a.session().decide("einsum over several ranks", a.size(1) > 1);
    const Tensor product = is_sum ? bmm(by_row, a) : product_of_one(by_row, transpose(a, 1, 2));
    return mul(transposed ? transpose(product, 1, 2) : product, 1.0);
}

}  // namespace

// get_delta_factors for 3-D parameters, get_delta_weight for others; register_parametrization evaluates the sum once.
FoldedParameter::FoldedParameter(const BareModule& module, std::size_t index) : weight_(module[index]) {
    const std::optional<ParameterAdapter>& adapter = module.lora[index];
    if (!adapter) return;
    scaling_ = adapter->scaling;
    const DType dtype = weight_.dtype();
    if (weight_.dim() == 3 && !weight_.session().stack.experts_are_folded_in_one_step()) {
        delta_ = to(product_by_expert(*adapter, weight_.size(0), module.parameters[index].transposed), dtype);
    } else if (weight_.dim() == 3) {
        const Tensor a = reshape(adapter->a, {weight_.size(0), -1, adapter->a.size(-1)});
        const Tensor b = permuted_b(adapter->b, weight_.size(0));
        const bool transposed = module.parameters[index].transposed;
        left_ = to(transposed ? transpose(a, -2, -1) : b, dtype);
        right_ = to(transposed ? transpose(b, -2, -1) : a, dtype);
    } else {
        delta_ = mul(matmul(adapter->b, adapter->a), 1.0);
        delta_ = to(delta_, dtype);
    }
    const Tensor checked = value();
}

// _LoraFactorsProxy.forward, _LoraParameterProxy.forward.
Tensor FoldedParameter::value() const {
    if (delta_.defined()) return add(weight_, delta_);
    if (!left_.defined()) return weight_;
    return baddbmm(weight_, left_, right_, scaling_);
}

FoldedParameters::FoldedParameters(const BareModule& module) {
    for (std::size_t i = module.parameters.size(); i-- > 0;)
        if (module.lora[i]) folded_.push_back({module.parameters[i].name, FoldedParameter(module, i), {}});
}

FoldedParameters::~FoldedParameters() {
    for (Folded& each : folded_) each.sum.reset();
    while (!folded_.empty()) folded_.pop_back();
}

Tensor FoldedParameters::value(std::string_view name) {
    for (Folded& each : folded_) {
        if (each.name != name) continue;
        if (!each.sum.defined()) each.sum = each.parameter.value();
        return each.sum;
    }
    return {};
}

void adapt_parameter(Session& session, BareModule& module, const LoraTarget& target, Size rank, const LoraPlan& plan) {
    std::size_t index = 0;
    while (module.parameters[index].name != target.parameter) ++index;
    const BareParameter& p = module.parameters[index];
    const bool over_experts = p.sizes.size() == 3;
    const Size experts = over_experts ? p.sizes[0] : 1;
    Size in = p.sizes.back(), out = p.sizes[p.sizes.size() - 2];
    if (p.transposed) std::swap(in, out);
    const DType dtype = module.tensors[index].dtype();
    ParameterAdapter adapter;
    adapter.a = empty(session, {rank * experts, in}, dtype, Op::to_copy);
    adapter.b = empty(session, {out, rank * experts}, dtype, Op::to_copy);
    // baddbmm has a way of its own for a scaling of one: rows of other ranks are not of this path.
    const auto r = static_cast<double>(static_cast<std::int64_t>(rank));
    adapter.scaling = target.alpha / (plan.use_rslora ? std::sqrt(r) : r);
    module.lora[index] = adapter;
}

}  // namespace vramfit::model
