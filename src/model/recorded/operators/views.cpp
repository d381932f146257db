// Views and concatenation in recorded programs.
#include "engine/ops/attention.hpp"
#include "engine/ops/copy.hpp"
#include "engine/ops/shape.hpp"
#include "engine/ops/view.hpp"
#include "model/recorded/operators.hpp"

namespace vramfit::model::recorded {

using namespace engine;

namespace {

using ArgumentKind = network::Argument::Kind;

Tensor viewed(const Arguments& a) { return view(a.tensor(0), a.dims(1)); }
Tensor reshaped(const Arguments& a) { return reshape(a.tensor(0), a.dims(1)); }
Tensor reshaped_as(const Arguments& a) { return reshape(a.tensor(0), a.tensor(1).sizes()); }
Tensor expanded(const Arguments& a) { return expand(a.tensor(0), a.dims(1)); }
Tensor transposed(const Arguments& a) { return transpose(a.tensor(0), a.integer(a.at(1)), a.integer(a.at(2))); }
Tensor unsqueezed(const Arguments& a) { return unsqueeze(a.tensor(0), a.integer(a.at(1))); }
Tensor made_contiguous(const Arguments& a) { return contiguous(a.tensor(0)); }

/// A row of no elements goes with tensors of any shape, of which it is no part (ATen/native/TensorShape.h
/// cat_should_skip_tensor): what a cache begins with.
Tensor joined(const Arguments& a) {
    std::vector<Tensor> parts = a.tensors(a.at(0));
    if (parts.size() > 1)
        std::erase_if(parts, [](const Tensor& t) { return t.dim() == 1 && same(t.size(0), Size(0)); });
    if (parts.empty() || parts.size() > 128) a.refuse("more than 128 tensors");
    const network::Argument* dim = a.find(1, "dim");
    return cat(parts, dim ? a.integer(*dim) : 0);
}

int wrapped(const Arguments& a, int dim, int rank) {
    if (dim < -rank || dim >= rank) a.refuse("such a dimension");
    return dim < 0 ? dim + rank : dim;
}

/// A view or a copy, as reshape decides (ATen/native/TensorShape.cpp flatten).
Tensor flattened(const Arguments& a) {
    const Tensor t = a.tensor(0);
    const network::Argument *first = a.find(1, "start_dim"), *last = a.find(2, "end_dim");
    const int begin = wrapped(a, first ? a.integer(*first) : 0, t.dim());
    const int end = wrapped(a, last ? a.integer(*last) : -1, t.dim());
    if (begin == end) return t;
    Dims sizes;
    for (int i = 0; i < t.dim(); ++i) {
        if (i > begin && i <= end)
            sizes[sizes.size() - 1] *= t.size(i);
        else
            sizes.push(t.size(i));
    }
    return reshape(t, sizes);
}

Tensor squeezed(const Arguments& a) {
    const Tensor t = a.tensor(0);
    const network::Argument* dim = a.find(1, "dim");
    if (dim) return squeeze(t, a.integer(*dim));
    Tensor out = t;  // its gradient is given the dimensions back one by one: unsqueeze_to, views as well
    for (int i = t.dim(); i-- > 0;)
        if (t.session().decide("squeeze", t.size(i) == 1)) out = squeeze(out, i);
    return out.get() == t.get() ? view(t, t.sizes()) : out;
}

Tensor permuted(const Arguments& a) {
    const Tensor t = a.tensor(0);
    const bool listed = a.at(1).is(ArgumentKind::list);
    std::vector<int> order;
    for (std::size_t i = 0; i < (listed ? a.at(1).items.size() : a.count() - 1); ++i)
        order.push_back(wrapped(a, a.integer(listed ? a.at(1).items[i] : a.at(1 + i)), t.dim()));
    if (static_cast<int>(order.size()) != t.dim()) a.refuse("another number of dimensions");
    return permute(t, order);
}

Tensor expanded_as(const Arguments& a) { return expand(a.tensor(0), a.tensor(1).sizes()); }
Tensor viewed_as(const Arguments& a) { return view(a.tensor(0), a.tensor(1).sizes()); }
Tensor detached(const Arguments& a) { return detach(a.tensor(0)); }
Tensor cloned(const Arguments& a) {
    return a.find("memory_format") ? clone_contiguous(a.tensor(0)) : clone(a.tensor(0));
}

Tensor stacked(const Arguments& a) {
    const std::vector<Tensor> parts = a.tensors(a.at(0));
    if (parts.empty()) a.refuse("no tensors");
    const network::Argument* dim = a.find(1, "dim");
    return stack(parts, dim ? a.integer(*dim) : 0);
}

/// ATen/native/TensorShape.cpp repeat: an empty tensor of the size, and a copy into windows of it.
Tensor repeated(const Arguments& a) {
    const Tensor t = a.tensor(0);
    const Dims times = a.dims(1);
    if (times.size() < t.dim()) a.refuse("fewer repeats than dimensions");
    if (t.requires_grad()) {
        int along = 0;
        for (int i = 0; i < times.size(); ++i) {
            if (same(times[i], Size(1))) continue;
            if (!same(times[along], Size(1)) && along != i) a.refuse("a gradient of several dimensions");
            along = i;
        }
        if (times.size() == t.dim() + 1 && along == 0) return repeat_before(t, times[0]);
        if (times.size() != t.dim()) a.refuse("a gradient of more dimensions");
        return repeat_along(t, along, times[along]);
    }
    Dims sizes = times;
    for (int i = 0; i < t.dim(); ++i) sizes[times.size() - t.dim() + i] *= t.size(i);
    return empty(a.session(), sizes, t.dtype(), Op::repeat);
}

/// A number of times, not a tensor of them.
Tensor repeated_interleaved(const Arguments& a) {
    const network::Argument *times = a.find(1, "repeats"), *dim = a.find(2, "dim");
    if (!times || !dim || Arguments::is_tensor(*times)) a.refuse("repeats that are a tensor, or no dimension");
    return repeat_interleave(a.tensor(0), a.size(*times), a.integer(*dim));
}

constexpr NamedOperator kViews[] = {
    {"torch.Tensor.view", viewed},
    {"torch.Tensor.reshape", reshaped},
    {"torch.Tensor.reshape_as", reshaped_as},
    {"torch.Tensor.expand", expanded},
    {"torch.Tensor.transpose", transposed},
    {"torch.transpose", transposed},
    {"torch.Tensor.unsqueeze", unsqueezed},
    {"torch.Tensor.contiguous", made_contiguous},
    {"torch.flatten", flattened},
    {"torch.Tensor.flatten", flattened},
    {"torch.Tensor.squeeze", squeezed},
    {"torch.squeeze", squeezed},
    {"torch.Tensor.permute", permuted},
    {"torch.Tensor.expand_as", expanded_as},
    {"torch.broadcast_to", expanded},
    {"torch.Tensor.view_as", viewed_as},
    {"torch.Tensor.detach", detached},
    {"torch.Tensor.data.__get__", detached},
    {"torch.Tensor.clone", cloned},
    {"torch.clone", cloned},
    {"torch.Tensor.repeat", repeated},
    {"torch.stack", stacked},
    {"torch.repeat_interleave", repeated_interleaved},
    {"torch.Tensor.repeat_interleave", repeated_interleaved},
    {"torch.cat", joined},
    {"torch.concatenate", joined},
    {"torch.concat", joined},
};

}  // namespace

std::span<const NamedOperator> view_operators() { return kViews; }

}  // namespace vramfit::model::recorded
