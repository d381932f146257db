// Liger's functions in recorded programs, as with_liger writes them.
#include "spec/network/rewritten/liger.hpp"

#include "model/layers/liger.hpp"
#include "model/recorded/operators.hpp"

namespace vramfit::model::recorded {

namespace {

template <bool in_place>
Tensor liger_normed(const Arguments& a) {
    const Tensor input = a.tensor(0);
    if (input.dim() == 0) a.refuse("a number");
    return liger_rms_norm(input, a.tensor(1), in_place);
}

Tensor liger_gated(const Arguments& a) {
    const Tensor gate = a.tensor(0), up = a.tensor(1);
    if (gate.dim() == 0 || up.dim() == 0) a.refuse("a number");
    return liger_silu_mul(gate, up);
}

std::vector<Tensor> liger_turned(const Arguments& a) {
    Tensor q = a.tensor(0), k = a.tensor(1);
    if (q.dim() != 4 || k.dim() != 4) a.refuse("heads of another shape");
    liger_rope(q, k, Rotary{a.tensor(2), a.tensor(3)});
    return {q, k};
}

constexpr NamedOperator kLiger[] = {
    {network::kLigerNorm, liger_normed<true>},
    {network::kLigerNormApart, liger_normed<false>},
    {network::kLigerGate, liger_gated},
    {network::kLigerRope, liger_turned},
};

}  // namespace

std::span<const NamedOperator> liger_operators() { return kLiger; }

}  // namespace vramfit::model::recorded
