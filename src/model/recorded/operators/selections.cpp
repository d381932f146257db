// Sorting, selecting and grouped products in recorded programs: the routing of a mixture of experts.
#include "engine/ops/copy.hpp"
#include "engine/ops/cub_scratch.hpp"
#include "engine/ops/grouped_mm.hpp"
#include "engine/ops/index.hpp"
#include "engine/ops/pointwise.hpp"
#include "engine/ops/reduce.hpp"
#include "engine/ops/row_order.hpp"
#include "model/recorded/operators.hpp"

#include <fmt/format.h>

namespace vramfit::model::recorded {

using namespace engine;

namespace {

void only_last(const Arguments& a, const network::Argument* dim, const Tensor& t) {
    if (dim && a.integer(*dim) != -1 && a.integer(*dim) != t.dim() - 1) a.refuse("another dimension than the last");
}

std::vector<Tensor> both(Picked picked) { return {std::move(picked.values), std::move(picked.indices)}; }

std::vector<Tensor> largest(const Arguments& a) {
    const Tensor t = a.tensor(0);
    const network::Argument* k = a.find(1, "k");
    only_last(a, a.find(2, "dim"), t);
    if (!k) a.refuse("no number of places");
    const Size columns = t.size(-1);
    const bool dense = t.dtype() == DType::float32 && !t.requires_grad() && a.size(*k) <= kMostSortedInPlace;
    if (columns >= kTopkColumns && dense) return both(topk_of_rows(t, a.size(*k)));
    if (columns >= kTopkColumns) {
        const Size rows = t.numel() / columns;
        const bool blocks = rows > 4000 || (rows >= 800 && columns >= 800) || columns >= 3000;
        if (a.session().decide("topk takes several blocks for a row", blocks))
            a.refuse(fmt::format("more than {} rows", columns >= 800 ? "799" : "4000"));
    }
    return both(topk(t, a.size(*k)));
}

std::vector<Tensor> sorted(const Arguments& a) {
    const Tensor t = a.tensor(0);
    if (t.dim() != 1 || t.dtype() != DType::int64) a.refuse("another tensor than a row of int64");
    return both(sort(t));
}

/// torch.argsort: sorts, and lets the values go (ATen/native/Sorting.cpp argsort).
Tensor sorted_places(const Arguments& a) { return sorted(a)[1]; }

/// torch.max(t, dim, keepdim), torch.max(t, other) and torch.max(t).
std::vector<Tensor> largest_of(const Arguments& a) {
    const Tensor t = a.tensor(0);
    if (const network::Argument* other = a.find(1, "other"); other && Arguments::is_tensor(*other))
        return {maximum(t, a.tensor(*other))};
    const network::Argument* dim = a.find(1, "dim");
    if (!dim) {
        if (t.requires_grad()) a.refuse("a maximum of everything with a gradient");
        return {reduce(t, (1u << t.dim()) - 1u, false, t.dtype(), Op::max)};
    }
    only_last(a, dim, t);
    return both(max_last(t, a.flag(2, "keepdim", false)));
}

Tensor gathered(const Arguments& a) {
    const Tensor ids = a.optional_tensor(2, "index");
    if (!ids.defined() || ids.dtype() != DType::int64 || a.flag(3, "sparse_grad", false)) a.refuse("such places");
    return gather(a.tensor(0), ids);
}

/// torch.scatter(t, dim, index, number), also as a method.
Tensor scattered(const Arguments& a) {
    const network::Argument *ids = a.find(2, "index"), *value = a.find(3, "value");
    if (!ids || !value || Arguments::is_tensor(*value) || a.find("reduce")) a.refuse("other than a number");
    return scatter_number(a.tensor(0), a.tensor(*ids));
}

Tensor histogram(const Arguments& a) {
    const network::Argument* bins = a.find(1, "bins");
    if (!bins) a.refuse("100 bins");
    return histc(a.tensor(0), a.size(*bins));
}

/// transformers 5.17.0 integrations/moe.py _grouped_mm, recorded on a card that has torch's operator
/// (_can_use_grouped_mm: from capability 8.0 on).
Tensor grouped_product(const Arguments& a) {
    const Tensor offs = a.optional_tensor(2, "offs");
    if (!offs.defined()) a.refuse("no groups");
    const Tensor input = a.tensor(0);
    const bool on_card = input.session().device.capability.major >= 8;
    return on_card ? grouped_mm(input, a.tensor(1), offs) : grouped_mm_fallback(input, a.tensor(1), offs);
}

/// Places of one dimension.
Tensor places_selected(const Arguments& a) {
    const network::Argument* dim = a.find(1, "dim");
    const Tensor ids = a.optional_tensor(2, "index");
    if (!dim || !ids.defined() || ids.dim() != 1) a.refuse("such places");
    return index_select(a.tensor(0), ids, a.integer(*dim));
}

/// Tensor.index_add(0, places, source) of a tensor that needs no gradient.
Tensor added_at(const Arguments& a) {
    const Tensor t = a.tensor(0), ids = a.tensor(2), source = a.tensor(3);
    const bool plain = a.integer(a.at(1)) == 0 && ids.dim() == 1 && ids.dtype() == DType::int64 && !t.requires_grad();
    if (!plain || a.find("alpha") || source.dtype() != t.dtype()) a.refuse("such places or an option");
    return index_add(t, ids, source);
}

constexpr NamedOperator kSelections[] = {
    {"torch.Tensor.index_add", added_at},
    {"torch.topk", largest},
    {"torch.Tensor.topk", largest},
    {"torch.sort", sorted},
    {"torch.Tensor.sort", sorted},
    {"torch.argsort", sorted_places},
    {"torch.Tensor.max", largest_of},
    {"torch.max", largest_of},
    {"torch.maximum", largest_of},
    {"torch.scatter", scattered},
    {"torch.Tensor.scatter", scattered},
    {"torch.gather", gathered},
    {"torch.Tensor.gather", gathered},
    {"torch.index_select", places_selected},
    {"torch.Tensor.index_select", places_selected},
    {"torch.histc", histogram},
    {"torch.nn.functional.grouped_mm", grouped_product},
    {"torch._grouped_mm", grouped_product},
    {"_VariableFunctionsClass._grouped_mm", grouped_product},
};

}  // namespace

std::span<const NamedOperator> selection_operators() { return kSelections; }

}  // namespace vramfit::model::recorded
