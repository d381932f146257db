// Reductions and scans in recorded programs, and what the host reads of them.
#include "engine/ops/copy.hpp"
#include "engine/ops/cub_scratch.hpp"
#include "engine/ops/index.hpp"
#include "engine/ops/logsumexp.hpp"
#include "engine/ops/reduce.hpp"
#include "engine/ops/running_sum.hpp"
#include "engine/ops/sum.hpp"
#include "engine/ops/view.hpp"
#include "model/recorded/operators.hpp"

namespace vramfit::model::recorded {

using namespace engine;

namespace {

bool is_last(const Arguments& a, const network::Argument* dim, const Tensor& t) {
    return dim && (a.integer(*dim) == -1 || a.integer(*dim) == t.dim() - 1);
}

/// numpy's name of the argument is taken too (torch's python_arg_parser.cpp).
bool keeps_dim(const Arguments& a) { return a.flag(2, "keepdim", false) || a.flag(a.count(), "keepdims", false); }

Tensor mean(const Arguments& a) {
    const Tensor t = a.tensor(0);
    const network::Argument* dim = a.find(1, "dim");
    if (!dim || a.find("dtype")) a.refuse("another mean than over a dimension");
    return is_last(a, dim, t) && keeps_dim(a) ? mean_last(t) : mean_over(t, a.integer(*dim), keeps_dim(a));
}

/// Tensor.std(dim, unbiased, keepdim).
Tensor deviation(const Arguments& a) {
    const Tensor t = a.tensor(0);
    const bool plain = is_last(a, a.find(1, "dim"), t) && a.flag(3, "keepdim", false) && !a.flag(2, "unbiased", true);
    if (!plain || a.find("correction")) a.refuse("such a deviation");
    return std_last(t);
}

Tensor total(const Arguments& a) {
    const network::Argument* dim = a.find(1, "dim");
    const std::optional<DType> dtype = a.dtype(a.find("dtype"));
    const Tensor t = a.tensor(0);
    if (dtype && (!dim || !is_floating(t.dtype()))) a.refuse("another dtype");
    if (!dim) return sum_all(t);
    if (!is_floating(t.dtype())) return sum_dim(t, a.integer(*dim), keeps_dim(a), DType::int64);
    return sum_over(t, a.integer(*dim), keeps_dim(a), dtype);
}

Tensor log_of_sum(const Arguments& a) {
    const Tensor t = a.tensor(0);
    if (!is_last(a, a.find(1, "dim"), t)) a.refuse("another sum than over the last dimension");
    return logsumexp(t, keeps_dim(a));
}

/// torch.norm of order 1 over the last dimension, which stays.
Tensor norm(const Arguments& a) {
    const Tensor t = a.tensor(0);
    const bool plain = is_floating(t.dtype()) && is_last(a, a.find(2, "dim"), t) && a.flag(3, "keepdim", false) &&
                       a.find(1, "p") && a.real(1, "p", 2) == 1;
    if (!plain || a.find(4, "out") || a.find(5, "dtype")) a.refuse("such a norm");
    return absolute_norm_last(t);
}

Tensor all_true(const Arguments& a) {
    if (a.find(1, "dim")) a.refuse("one dimension");
    const Tensor t = a.tensor(0);
    return reduce(t, (1u << t.dim()) - 1, false, DType::boolean, Op::all);
}

/// Of flags or integers over the last dimension, of other numbers over any.
Tensor running_sum(const Arguments& a) {
    const Tensor t = a.tensor(0);
    const auto dtype = a.dtype(a.find("dtype"));
    const network::Argument* dim = a.find(1, "dim");
    const bool last = dim && (is_last(a, dim, t) || (t.dim() == 1 && a.integer(*dim) == 0));
    if (last && t.dim() == 1 && t.dtype() == DType::int32 && dtype == DType::int32) return cumsum_row(t);
    if (dim && t.dim() > 0 && t.dtype() == DType::float32 && !dtype) {
        // One row goes to cub, whose scratch for such numbers is not known here.
        if (t.numel() == t.size(a.integer(*dim))) a.refuse("a running sum of a single row");
        return engine::running_sum(t);
    }
    if (!last || is_floating(t.dtype()) || dtype) a.refuse("such a running sum");
    return cumsum_last(t);
}

/// torch.diff over the last dimension: neighbours are subtracted.
Tensor differences(const Arguments& a) {
    Tensor t = a.tensor(0);
    const network::Argument* dim = a.find(2, "dim");
    if ((dim && !is_last(a, dim, t)) || a.find(4, "append")) a.refuse("another dimension than the last");
    const Tensor before = a.optional_tensor(3, "prepend");
    if (before.defined()) {
        const Tensor parts[2] = {before, t};
        t = cat(parts, -1);
    }
    const Size length = t.size(-1);
    return sub(slice(t, -1, 1, length), slice(t, -1, 0, length - 1));
}

Tensor read_by_host(const Arguments& a) {
    a.tensor(0);
    a.session().streams.host_waits(0);
    return {};
}

constexpr NamedOperator kReductions[] = {
    {"torch.Tensor.mean", mean},
    {"torch.mean", mean},
    {"torch.std", deviation},
    {"torch.Tensor.std", deviation},
    {"torch.Tensor.sum", total},
    {"torch.Tensor.all", all_true},
    {"torch.all", all_true},
    {"torch.Tensor.cumsum", running_sum},
    {"torch.sum", total},
    {"torch.cumsum", running_sum},
    {"torch.logsumexp", log_of_sum},
    {"torch.Tensor.logsumexp", log_of_sum},
    {"torch.functional.norm", norm},
    {"torch.diff", differences},
    {"torch.Tensor.__bool__", read_by_host},
    {"torch.Tensor.item", read_by_host},
    {"torch.Tensor.tolist", read_by_host},
};

}  // namespace

std::span<const NamedOperator> reduction_operators() { return kReductions; }

}  // namespace vramfit::model::recorded
