// Functions of recorded programs that write into their first argument and give it back.
#include "engine/ops/in_place.hpp"
#include "engine/node.hpp"
#include "engine/ops/clamp.hpp"
#include "engine/ops/copy_slices.hpp"
#include "engine/ops/index.hpp"

#include "model/recorded/operators.hpp"

namespace vramfit::model::recorded {

using namespace engine;

namespace {

Tensor added(const Arguments& a) {
    if (a.find("alpha")) a.refuse("an option");
    Tensor t = a.tensor(0);
    if (!Arguments::is_tensor(a.at(1))) {
        add_in_place(t);
        return t;
    }
    const Tensor other = a.tensor(1), base = t->is_view && needs_grad(t, other) ? a.base(0) : Tensor();
    if (base.defined())
        add_into_view(base, t, other);
    else
        add_in_place(t, other);
    return t;
}

Tensor multiplied(const Arguments& a) {
    Tensor t = a.tensor(0);
    if (!Arguments::is_tensor(a.at(1))) {
        mul_(t, a.scalar(a.at(1)));
        return t;
    }
    const Tensor other = a.tensor(1);
    if (is_floating(result_type(t, other)) && !is_floating(t.dtype())) a.refuse("a tensor of another kind");
    if (other.requires_grad() && t->is_view) a.refuse("a view and a tensor with a gradient");
    mul_in_place(t, other);
    return t;
}

Tensor divided_in_place(const Arguments& a) {
    Tensor t = a.tensor(0);
    if (Arguments::is_tensor(a.at(1)))
        div_in_place(t, a.tensor(1));
    else
        mul_(t, a.scalar(a.at(1)));  // DivBackward0 saves the number and divides the gradient by it
    return t;
}

Tensor clamped_in_place(const Arguments& a) {
    Tensor t = a.tensor(0);
    if (!t.requires_grad()) return t;
    if (t->is_view || !a.find(1, "min") || !a.find(2, "max")) a.refuse("a gradient of a view, or one end alone");
    clamp_both_in_place(t);
    return t;
}

Tensor filled_in_place(const Arguments& a) {
    Tensor t = a.tensor(0);
    if (Arguments::is_tensor(a.at(2)) && a.tensor(2).requires_grad()) a.refuse("a value with a gradient");
    masked_fill_in_place(t, a.tensor(1));
    return t;
}

/// Tensor.scatter_(dim, index, number or tensor) into what needs no gradient: one kernel that writes
/// (ATen/native/TensorAdvancedIndexing.cpp scatter_impl, which copies nothing where the result is the tensor itself).
Tensor scattered_in_place(const Arguments& a) {
    Tensor t = a.tensor(0);
    const network::Argument* source = a.find(3, "src");
    if (t.requires_grad() || a.find("reduce")) a.refuse("a gradient or a reduction");
    if (source && Arguments::is_tensor(*source) && a.tensor(*source).requires_grad()) {
        const Tensor ids = a.optional_tensor(2, "index"), values = a.tensor(*source);
        if (!ids.defined() || t->is_view || !(ids.sizes() == values.sizes())) a.refuse("such places");
        scatter_in_place(t, ids, values);
    }
    return t;
}

/// Tensor.index_copy_(0, places, source) into a tensor that needs no gradient.
Tensor rows_copied_in_place(const Arguments& a) {
    Tensor t = a.tensor(0);
    const Tensor ids = a.tensor(2), source = a.tensor(3);
    const bool plain = a.integer(a.at(1)) == 0 && ids.dim() == 1 && ids.dtype() == DType::int64 && !t.requires_grad();
    if (!plain || t->is_view || source.dtype() != t.dtype()) a.refuse("such places");
    index_copy_in_place(t, ids, source);
    return t;
}

/// Random numbers into a tensor that needs no gradient.
Tensor filled_by_chance(const Arguments& a) {
    Tensor t = a.tensor(0);
    if (t.requires_grad()) a.refuse("a gradient");
    return t;
}

/// Tensor.fill_(number) of a tensor that needs no gradient.
Tensor filled(const Arguments& a) {
    if (Arguments::is_tensor(a.at(1))) a.refuse("a tensor as the value");
    return filled_by_chance(a);
}

/// part.copy_(source) of a part that a slice cut out of a tensor.
Tensor copied_in_place(const Arguments& a) {
    const Tensor part = a.tensor(0), base = a.base(0), source = a.tensor(1);
    const auto equal = [](const Dims& x, const Dims& y) {
        bool all = x.size() == y.size();
        for (int i = 0; all && i < x.size(); ++i) all = same(x[i], y[i]);
        return all;
    };
    if (!base.defined() || !equal(base.strides(), part.strides()) || !equal(part.sizes(), source.sizes()))
        a.refuse("other than a copy of as much into a slice");
    copy_into_slice(base, part, source);
    return part;
}

/// An attribute that is a buffer is set (torch/nn/modules/module.py Module.__setattr__).
Tensor replaced_buffer(const Arguments& a) {
    a.replace_buffer(0, a.tensor(1));
    return {};
}

constexpr NamedOperator kInPlace[] = {
    {"torch.Tensor.uniform_", filled_by_chance},
    {"torch.Tensor.exponential_", filled_by_chance},
    {"torch.Tensor.fill_", filled},
    {"torch.Tensor.copy_", copied_in_place},
    {"torch.Tensor.scatter_", scattered_in_place},
    {"torch.Tensor.index_copy_", rows_copied_in_place},
    {"torch.Tensor.add_", added},
    {"torch.Tensor.__iadd__", added},
    {"torch.Tensor.mul_", multiplied},
    {"torch.Tensor.__imul__", multiplied},
    {"torch.Tensor.div_", divided_in_place},
    {"torch.Tensor.__itruediv__", divided_in_place},
    {"torch.Tensor.masked_fill_", filled_in_place},
    {"torch.Tensor.clamp_", clamped_in_place},
    {"torch.nn.Module.register_buffer", replaced_buffer},
};

}  // namespace

std::span<const NamedOperator> in_place_operators() { return kInPlace; }

}  // namespace vramfit::model::recorded
