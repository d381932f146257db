// Functions of recorded programs that give several tensors: parts of one along a dimension.
#include "engine/ops/split.hpp"
#include "model/recorded/operators.hpp"

namespace vramfit::model::recorded {

using namespace engine;

namespace {

using ArgumentKind = network::Argument::Kind;

int dimension(const Arguments& a, const Tensor& t) {
    const network::Argument* found = a.find(2, "dim");
    const int dim = found ? a.integer(*found) : 0;
    if (dim < -t.dim() || dim >= t.dim()) a.refuse("such a dimension");
    return dim < 0 ? dim + t.dim() : dim;
}

/// Tensor.split(size) and Tensor.split(sizes).
std::vector<Tensor> split(const Arguments& a) {
    const Tensor t = a.tensor(0);
    const int dim = dimension(a, t);
    const auto parts = static_cast<int>(a.results());
    const network::Argument& wanted = a.at(1);
    if (!wanted.is(ArgumentKind::list)) {
        if (!same(a.size(wanted) * parts, t.size(dim))) a.refuse("a last part that is shorter");
        return chunk(t, parts, dim);
    }
    std::vector<Size> sizes;
    for (const network::Argument& size : wanted.items) sizes.push_back(a.size(size));
    return split_with_sizes(t, sizes, dim);
}

std::vector<Tensor> chunked(const Arguments& a) {
    const Tensor t = a.tensor(0);
    const int dim = dimension(a, t), parts = a.integer(a.at(1));
    if (parts < 1 || parts != static_cast<int>(a.results()) || !same(t.size(dim) % parts, Size(0)))
        a.refuse("a last part that is shorter");
    return chunk(t, parts, dim);
}

std::vector<Tensor> unbound(const Arguments& a) {
    const Tensor t = a.tensor(0);
    if (const network::Argument* dim = a.find(1, "dim"); dim && a.integer(*dim) != 0) a.refuse("another dimension");
    if (!same(t.size(0), Size(static_cast<std::int64_t>(a.results())))) a.refuse("another number of parts");
    return unbind(t);
}

constexpr NamedOperator kParts[] = {
    {"torch.Tensor.split", split},   {"torch.split", split},   {"torch.functional.split", split},
    {"torch.Tensor.chunk", chunked}, {"torch.chunk", chunked}, {"torch.Tensor.unbind", unbound},
};

}  // namespace

std::span<const NamedOperator> parts_operators() { return kParts; }

}  // namespace vramfit::model::recorded
