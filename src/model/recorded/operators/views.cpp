// Views, subscripts and concatenation in recorded programs.
#include "engine/ops/copy.hpp"
#include "engine/ops/view.hpp"
#include "model/recorded/operators.hpp"

namespace vramfit::model::recorded {

using namespace engine;

namespace {

using ArgumentKind = network::Argument::Kind;

Tensor viewed(const Arguments& a) { return view(a.tensor(0), a.dims(1)); }
Tensor reshaped(const Arguments& a) { return reshape(a.tensor(0), a.dims(1)); }
Tensor expanded(const Arguments& a) { return expand(a.tensor(0), a.dims(1)); }
Tensor transposed(const Arguments& a) { return transpose(a.tensor(0), a.integer(a.at(1)), a.integer(a.at(2))); }
Tensor unsqueezed(const Arguments& a) { return unsqueeze(a.tensor(0), a.integer(a.at(1))); }
Tensor made_contiguous(const Arguments& a) { return contiguous(a.tensor(0)); }

Tensor joined(const Arguments& a) {
    const network::Argument& list = a.at(0);
    if (!list.is(ArgumentKind::list) || list.items.empty() || list.items.size() > 5) a.refuse("more than five tensors");
    std::vector<Tensor> parts;
    for (const network::Argument& item : list.items) parts.push_back(a.tensor(item));
    const network::Argument* dim = a.find(1, "dim");
    return cat(parts, dim ? a.integer(*dim) : 0);
}

/// One end of a slice: negative ones count from the end.
Size bound(const Arguments& a, const network::Argument& written, Size otherwise, Size length) {
    if (written.is(ArgumentKind::none)) return otherwise;
    const Size size = a.size(written);
    if (size.is_symbolic()) return same(size, length) || length < size ? length : size;
    if (size.bits() < 0) return length + size;
    return length < size ? length : size;
}

/// TensorIndexing.h applySlice: nothing is done where nothing is cut, if there are other parts beside it.
Tensor sliced(const Arguments& a, const Tensor& t, int dim, const network::Argument& slice_, bool alone) {
    const network::Argument& step = slice_.items[2];
    if (!step.is(ArgumentKind::none) && !(step.is(ArgumentKind::integer) && step.integer == 1))
        a.refuse("a slice with a step");
    const Size length = t.size(dim);
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

Tensor subscript(const Arguments& a) {
    Tensor t = a.tensor(0);
    const network::Argument& written = a.at(1);
    const bool listed = written.is(ArgumentKind::list);
    const std::size_t count = listed ? written.items.size() : 1;
    const auto part = [&](std::size_t i) -> const network::Argument& { return listed ? written.items[i] : written; };
    int used = 0;
    std::vector<Tensor> places;
    for (std::size_t i = 0; i < count; ++i) {
        if (Arguments::is_tensor(part(i))) places.push_back(a.tensor(part(i)));
        if (!part(i).is(ArgumentKind::none) && !part(i).is(ArgumentKind::ellipsis)) ++used;
    }
    if (!places.empty() && places.size() != count) a.refuse("an index tensor beside other parts");
    if (!places.empty()) return picked_at(a, t, places);
    if (used > t.dim()) a.refuse("more parts than dimensions");
    int dim = 0;
    const int skipped = t.dim() - used;
    for (std::size_t i = 0; i < count; ++i) {
        const network::Argument& one = part(i);
        if (one.is(ArgumentKind::none)) {
            t = unsqueeze(t, dim++);
        } else if (one.is(ArgumentKind::ellipsis)) {
            dim += skipped;
        } else if (one.is(ArgumentKind::slice)) {
            t = sliced(a, t, dim++, one, count == 1);
        } else if (one.is(ArgumentKind::integer) || one.is(ArgumentKind::formula)) {
            t = select(t, dim);
        } else {
            a.refuse("such a subscript");
        }
    }
    return t;
}

constexpr NamedOperator kViews[] = {
    {"torch.Tensor.view", viewed},
    {"torch.Tensor.reshape", reshaped},
    {"torch.Tensor.expand", expanded},
    {"torch.Tensor.transpose", transposed},
    {"torch.transpose", transposed},
    {"torch.Tensor.unsqueeze", unsqueezed},
    {"torch.Tensor.contiguous", made_contiguous},
    {"torch.Tensor.__getitem__", subscript},
    {"torch.cat", joined},
};

}  // namespace

std::span<const NamedOperator> view_operators() { return kViews; }

}  // namespace vramfit::model::recorded
