// Tensor.__getitem__ of recorded programs.
#include <algorithm>
#include <span>

#include "engine/node.hpp"
#include "engine/ops/copy.hpp"
#include "engine/ops/copy_slices.hpp"
#include "engine/ops/index.hpp"
#include "engine/ops/nonzero.hpp"
#include "engine/ops/split.hpp"
#include "engine/ops/view.hpp"
#include "model/recorded/operators.hpp"

namespace vramfit::model::recorded {

using namespace engine;

namespace {

using ArgumentKind = network::Argument::Kind;

/// One end of a slice: negative ones count from the end.
Size bound(const Arguments& a, const network::Argument& written, Size otherwise, Size length) {
    if (written.is(ArgumentKind::none)) return otherwise;
    const Size size = a.size(written);
    if (size.value() < 0) return length + size;
    return same(size, length) || length < size ? length : size;
}

/// TensorIndexing.h applySlice: nothing is done where nothing is cut, if there are other parts beside it.
Tensor sliced(const Arguments& a, const Tensor& t, int dim, const network::Argument& slice_, bool alone) {
    const network::Argument& step = slice_.items[2];
    const Size length = t.size(dim);
    if (!step.is(ArgumentKind::none) && !(step.is(ArgumentKind::integer) && step.integer == 1)) {
        const bool to_the_end = slice_.items[1].is(ArgumentKind::none);
        if (dim != t.dim() - 1 || !step.is(ArgumentKind::integer) || step.integer < 1 || (!to_the_end && needs_grad(t)))
            a.refuse("such a slice with a step");
        const Tensor part = to_the_end ? t : slice(t, dim, 0, bound(a, slice_.items[1], length, length));
        return slice_step(part, bound(a, slice_.items[0], 0, part.size(dim)), step.integer);
    }
    const Size begin = bound(a, slice_.items[0], 0, length), end = bound(a, slice_.items[1], length, length);
    if (!alone && same(begin, Size(0)) && same(end, length)) return whole(t, dim);
    return slice(t, dim, begin, end);
}

/// t[ids, ...] with tensors at several places: they are broadcast, and each one is made dense.
Tensor picked_at(const Arguments& a, const Tensor& t, const std::vector<Tensor>& places) {
    if (static_cast<int>(places.size()) != t.dim()) a.refuse("an index tensor beside whole dimensions");
    if (t.requires_grad()) a.refuse("a gradient");
    Dims sizes = places[0].sizes();
    for (const Tensor& place : places) sizes = broadcast_sizes(sizes, place.sizes());
    std::vector<Tensor> dense;
    for (const Tensor& place : places) dense.push_back(contiguous(expand(place, sizes)));
    return empty(a.session(), sizes, t.dtype(), Op::index);
}

bool is_whole_part(const network::Argument& part) {
    return part.is(ArgumentKind::ellipsis) ||
           (part.is(ArgumentKind::slice) && std::all_of(part.items.begin(), part.items.end(),
                                                        [](const auto& end) { return end.is(ArgumentKind::none); }));
}

/// t[..., [-2], :], a list of numbers beside whole dimensions: a tensor is made of it on the host and copied
/// (torch/csrc/autograd/python_variable_indexing.cpp sequenceToVariable). Nothing where there is no list.
Tensor at_listed_places(const Arguments& a, const Tensor& t, const std::vector<network::Argument>& parts) {
    const auto is_list = [](const network::Argument& part) { return part.is(ArgumentKind::list); };
    const auto list = std::find_if(parts.begin(), parts.end(), is_list);
    if (list == parts.end()) return {};
    const bool plain = std::all_of(list->items.begin(), list->items.end(),
                                   [](const auto& one) { return one.is(ArgumentKind::integer); });
    const bool beside =
        std::all_of(parts.begin(), list, is_whole_part) && std::all_of(std::next(list), parts.end(), is_whole_part);
    if (!plain || !beside || !t.is_contiguous()) a.refuse("such a list of places");
    const bool from_behind =
        std::any_of(parts.begin(), list, [](const auto& part) { return part.is(ArgumentKind::ellipsis); });
    const auto behind = static_cast<int>(std::distance(list, parts.end()));
    const int dim = from_behind ? t.dim() - behind : static_cast<int>(std::distance(parts.begin(), list));
    const Tensor places =
        empty(a.session(), {static_cast<std::int64_t>(list->items.size())}, DType::int64, Op::to_copy);
    return index_at(t, places, dim);
}

/// t[ids, :] of a table without a gradient, whose rows are whole: as t[ids].
bool is_before_whole_parts(std::span<const network::Argument> parts) {
    return Arguments::is_tensor(parts[0]) && std::all_of(parts.begin() + 1, parts.end(), is_whole_part);
}

/// A number, which may be another one in each round of a loop.
bool is_place(const network::Argument& part) {
    return part.is(ArgumentKind::integer) || part.is(ArgumentKind::formula) || part.is(ArgumentKind::real);
}

/// The view of what numbers, slices, None and an ellipsis cut out.
Tensor cut_out(const Arguments& a, Tensor t, std::span<const network::Argument> parts) {
    const auto used = std::count_if(parts.begin(), parts.end(), [](const network::Argument& part) {
        return !part.is(ArgumentKind::none) && !part.is(ArgumentKind::ellipsis);
    });
    const int skipped = t.dim() - static_cast<int>(used);
    if (skipped < 0) a.refuse("more parts than dimensions");
    int dim = 0;
    for (const network::Argument& part : parts) {
        if (part.is(ArgumentKind::none)) {
            t = unsqueeze(t, dim++);
        } else if (part.is(ArgumentKind::ellipsis)) {
            dim += skipped;
        } else if (part.is(ArgumentKind::slice)) {
            t = sliced(a, t, dim++, part, parts.size() == 1);
        } else if (is_place(part)) {
            t = select(t, dim);
        } else {
            a.refuse("such a subscript");
        }
    }
    return t;
}

/// What stands between the brackets.
std::span<const network::Argument> parts_of(const network::Argument& written) {
    if (written.is(ArgumentKind::list)) return written.items;
    return {&written, 1};
}

Tensor subscript(const Arguments& a) {
    const Tensor t = a.tensor(0);
    const network::Argument& written = a.at(1);
    const auto parts = parts_of(written);
    if (written.is(ArgumentKind::list))
        if (Tensor picked = at_listed_places(a, t, written.items); picked.defined()) return picked;
    std::vector<Tensor> places;
    for (const network::Argument& part : parts)
        if (Arguments::is_tensor(part)) places.push_back(a.tensor(part));
    const bool rows = places.size() == 1 && parts.size() == 1 && places[0].dtype() == DType::int64;
    if (rows && (places[0].is_contiguous() || !t.requires_grad()))  // without a gradient whatever the strides
        return index_rows(t, places[0]);
    if (places.size() == 1 && parts.size() == 1 && places[0].dtype() == DType::boolean)
        return index_by_mask(t, places[0], a.result_sizes()[0]);
    if (places.size() == 1 && is_before_whole_parts(parts) && places[0].dtype() == DType::int64 && !t.requires_grad())
        return index_rows(t, places[0]);
    if (!places.empty() && places.size() != parts.size()) a.refuse("an index tensor beside other parts");
    if (!places.empty()) return picked_at(a, t, places);
    const Tensor part = cut_out(a, t, parts);
    return part.get() == t.get() ? last_places(t, 0, t.size(-1)) : part;  // nothing was cut: an alias
}

/// t[:, :, i] = values, t[..., i, :n] = values: a copy into a view.
Tensor put_into_part(const Arguments& a) {
    Tensor t = a.tensor(0);
    const Tensor values = a.tensor(2);
    const auto parts = parts_of(a.at(1));
    if (!needs_grad(t, values)) return t;  // the kernel casts (ATen/native/cuda/Copy.cu copy_requires_temporaries)
    if (std::none_of(parts.begin(), parts.end(), is_place) || a.base(0).defined()) a.refuse("such a part");
    const Tensor part = cut_out(a, detach(t), parts);
    if (!(part.sizes() == values.sizes())) a.refuse("values of other sizes");
    copy_into_slice(t, part, values);
    return t;
}

/// t[a:b] += values, of which what is written back is the part itself: nothing is copied (ATen/native/Copy.cpp
/// is_same_data), but the tape has it.
Tensor put_back(const Arguments& a) {
    const Tensor t = a.tensor(0), part = a.tensor(2);
    if (!needs_grad(t, part)) return t;
    const bool its_own = part.get()->storage.get() == t.get()->storage.get() && part->is_view && !t->is_view;
    if (!its_own || part.dim() != t.dim()) a.refuse("such a part");
    copy_into_slice(t, part, part);
    return t;
}

/// t[ids] = values without a gradient: index_put_ with a row of int64 allocates nothing
/// (ATen/native/TensorAdvancedIndexing.cpp _index_put_impl_, where nothing is added up).
Tensor put_at(const Arguments& a) {
    const Tensor t = a.tensor(0);
    if (a.at(1).is(ArgumentKind::list) && Arguments::is_tensor(a.at(2)) &&
        std::none_of(a.at(1).items.begin(), a.at(1).items.end(), Arguments::is_tensor))
        return put_into_part(a);
    if (a.at(1).is(ArgumentKind::slice) && Arguments::is_tensor(a.at(2))) return put_back(a);
    if (!Arguments::is_tensor(a.at(1)) || !Arguments::is_tensor(a.at(2)))
        a.refuse("other than a tensor at a tensor of places");
    const Tensor places = a.tensor(1), values = a.tensor(2);
    const bool plain =
        places.dtype() == DType::int64 && places.dim() == 1 && t.dim() == 1 && values.dtype() == t.dtype();
    if (!plain || t.requires_grad() || values.requires_grad()) a.refuse("such places or values");
    return t;
}

constexpr NamedOperator kSubscripts[] = {
    {"torch.Tensor.__setitem__", put_at},
    {"torch.Tensor.__getitem__", subscript},
};

}  // namespace

std::span<const NamedOperator> subscript_operators() { return kSubscripts; }

}  // namespace vramfit::model::recorded
