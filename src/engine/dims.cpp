// Layout rules of PyTorch 2.x, shape by shape.
#include "engine/dims.hpp"

#include <utility>

namespace vramfit::engine {

Dims Dims::insert(int at, Size v) const {
    Dims out;
    for (int i = 0; i < size_; ++i) {
        if (i == at) out.push(v);
        out.push((*this)[i]);
    }
    if (at == size_) out.push(v);
    return out;
}

Dims Dims::erase(int at) const {
    Dims out;
    for (int i = 0; i < size_; ++i)
        if (i != at) out.push((*this)[i]);
    return out;
}

Size numel_of(const Dims& sizes) {
    Size n = 1;  // from the last one on, as strides: the same products
    for (int i = sizes.size() - 1; i >= 0; --i) n *= sizes[i];
    return n;
}

Dims contiguous_strides(const Dims& sizes) {
    Dims strides;
    strides.resize(sizes.size());
    Size step = 1;
    for (int i = sizes.size() - 1; i >= 0; --i) {
        strides[i] = step;
        if (i > 0) step *= larger(sizes[i], 1);
    }
    return strides;
}

bool is_contiguous(const Dims& sizes, const Dims& strides) {
    Size expected = 1;
    for (int i = sizes.size() - 1; i >= 0; --i) {
        if (!same(strides[i], expected)) {
            if (sizes[i] == 1) continue;
            if (strides[i] != expected) return false;
        }
        expected *= sizes[i];
    }
    return true;
}

bool is_formally_dense(const Dims& sizes, const Dims& strides) {
    unsigned open = (1u << sizes.size()) - 1u;
    Size expected = 1;
    while (open != 0) {
        int at = sizes.size() - 1;
        while (at >= 0 && !(((open >> at) & 1u) != 0 && same(strides[at], expected))) --at;
        if (at < 0) return false;
        open &= ~(1u << at);
        expected *= sizes[at];
    }
    return true;
}

namespace {

/// Whether the places between the first and the last element are more or fewer than the elements, in all rows.
bool never_dense(const Dims& sizes, const Dims& strides) {
    Size reach = 1;
    Size numel = 1;
    bool symbolic = false;
    for (int i = 0; i < sizes.size(); ++i) {
        symbolic = symbolic || sizes[i].is_symbolic() || strides[i].is_symbolic();
        reach += (sizes[i] - 1) * strides[i];
        numel *= sizes[i];
    }
    return symbolic && always_differ(reach, numel);
}

}  // namespace

bool is_non_overlapping_and_dense(const Dims& sizes, const Dims& strides) {
    if (is_formally_dense(sizes, strides)) return true;
    if (never_dense(sizes, strides)) return false;
    if (sizes.size() == 1) return sizes[0] < 2 || strides[0] == 1;
    std::array<int, Dims::kCapacity> order{};
    for (int i = 0; i < sizes.size(); ++i) order[static_cast<std::size_t>(i)] = i;
    // Sort by stride; sizes 0 and 1 go last.
    auto before = [&](int a, int b) {
        if (sizes[a] < 2) return false;
        if (sizes[b] < 2) return true;
        return strides[a] < strides[b];
    };
    for (int i = 1; i < sizes.size(); ++i)
        for (int j = i; j > 0 && before(order[static_cast<std::size_t>(j)], order[static_cast<std::size_t>(j - 1)]);
             --j)
            std::swap(order[static_cast<std::size_t>(j)], order[static_cast<std::size_t>(j - 1)]);
    Size expected = 1;
    for (int i = 0; i < sizes.size(); ++i) {
        const int d = order[static_cast<std::size_t>(i)];
        if (sizes[d] < 2) return true;
        if (strides[d] != expected) return false;
        expected *= sizes[d];
    }
    return true;
}

namespace {

/// Comparisons of numbers; of symbolic sizes they become conditions.
struct ByNumber {
    static bool one(Size a) { return a == 1; }
    static bool differ(Size a, Size b) { return a != b; }
    static bool below(Size a, Size b) { return a < b; }
};

/// Comparisons of formulas, true for all rows at once: where a view exists by them, it exists for every row, and a
/// dimension that has one element in some row changes no stride of another.
struct ByFormula {
    static bool one(Size a) { return same(a, 1); }
    static bool differ(Size a, Size b) { return !same(a, b); }
    static bool below(Size a, Size b) { return !same(a, b) && is_multiple(b, a); }
};

template <class Compare>
std::optional<Dims> view_strides_by(const Dims& sizes, const Dims& strides, const Dims& target) {
    Dims out;
    out.resize(target.size());
    int view_d = target.size() - 1;
    Size chunk_base = strides[-1];
    Size tensor_numel = 1;
    Size view_numel = 1;
    for (int d = sizes.size() - 1; d >= 0; --d) {
        tensor_numel *= sizes[d];
        // End of a chunk of dimensions that are contiguous with each other.
        if (d == 0 || (!Compare::one(sizes[d - 1]) && Compare::differ(strides[d - 1], tensor_numel * chunk_base))) {
            while (view_d >= 0 && (Compare::below(view_numel, tensor_numel) || Compare::one(target[view_d]))) {
                out[view_d] = view_numel * chunk_base;
                view_numel *= target[view_d];
                --view_d;
            }
            if (Compare::differ(view_numel, tensor_numel)) return std::nullopt;
            if (d > 0) {
                chunk_base = strides[d - 1];
                tensor_numel = 1;
                view_numel = 1;
            }
        }
    }
    if (view_d != -1) return std::nullopt;
    return out;
}

/// Whether all sizes are formally the same: what differs formally may still be equal in some rows.
bool formally_equal(const Dims& a, const Dims& b) {
    if (a.size() != b.size()) return false;
    for (int i = 0; i < a.size(); ++i)
        if (!same(a[i], b[i])) return false;
    return true;
}

}  // namespace

std::optional<Dims> view_strides(const Dims& sizes, const Dims& strides, const Dims& target) {
    Dims out;
    out.resize(target.size());
    if (sizes.size() == 0) {
        for (int i = 0; i < target.size(); ++i) out[i] = 1;
        return out;
    }
    const Size numel = numel_of(sizes);
    if (numel == 0) {
        if (sizes == target) return strides;
        for (int i = target.size() - 1; i >= 0; --i)
            out[i] = i + 1 == target.size() ? Size(1) : larger(target[i + 1], 1) * out[i + 1];
        return out;
    }
    if (same(numel_of(target), numel) && formally_equal(strides, contiguous_strides(sizes)))
        return contiguous_strides(target);
    if (numel.is_symbolic())
        if (const auto found = view_strides_by<ByFormula>(sizes, strides, target)) return found;
    return view_strides_by<ByNumber>(sizes, strides, target);
}

Dims infer_size(const Dims& target, Size numel) {
    Dims out = target;
    int open = -1;
    for (int i = 0; i < target.size(); ++i)
        if (target[i] == -1) open = i;
    if (open < 0) return out;
    Size known = 1;
    for (int i = 0; i < target.size(); ++i)
        if (i != open) known *= target[i];
    out[open] = known == 0 ? 0 : numel / known;
    return out;
}

Dims broadcast_sizes(const Dims& a, const Dims& b) {
    const Dims& longer = a.size() >= b.size() ? a : b;
    const Dims& shorter = a.size() >= b.size() ? b : a;
    Dims out = longer;
    const int shift = longer.size() - shorter.size();
    for (int i = 0; i < shorter.size(); ++i)
        if (!same(out[i + shift], shorter[i]) && !same(shorter[i], 1) && out[i + shift] == 1)
            out[i + shift] = shorter[i];
    return out;
}

Dims expand_strides(const Dims& sizes, const Dims& strides, const Dims& target) {
    Dims out;
    out.resize(target.size());
    const int shift = target.size() - sizes.size();
    for (int i = 0; i < target.size(); ++i) {
        if (i < shift)
            out[i] = 0;
        else
            out[i] = !same(sizes[i - shift], target[i]) && sizes[i - shift] == 1 && target[i] != 1 ? Size(0)
                                                                                                   : strides[i - shift];
    }
    return out;
}

namespace {

/// -1: keep the order, 1: swap, 0: this pair is ambiguous (TensorIteratorBase::reorder_dimensions, should_swap).
int should_swap(const Dims& sizes, std::span<const Dims> strides, int dim0, int dim1) {
    for (const Dims& s : strides) {
        if (s[dim0] == 0 || s[dim1] == 0) continue;
        if (s[dim0] < s[dim1]) return -1;
        if (s[dim0] > s[dim1]) return 1;
        if (sizes[dim0] > sizes[dim1]) return 1;
    }
    return 0;
}

Dims strides_in_order(const Dims& sizes, std::span<const int> perm) {
    Dims out;
    out.resize(sizes.size());
    Size step = 1;
    for (int d : perm) {
        out[d] = step;
        step *= sizes[d];
    }
    return out;
}

}  // namespace

namespace {

/// reorder_dimensions: the order of the operands' strides, the earlier ones first.
Dims strides_by_order(const Dims& sizes, std::span<const Layout> operands) {
    if (operands.size() > 6) operands = operands.first(6);
    std::array<Dims, 6> expanded;
    for (std::size_t i = 0; i < operands.size(); ++i)
        expanded[i] = expand_strides(operands[i].sizes, operands[i].strides, sizes);
    const std::span<const Dims> strides{expanded.data(), operands.size()};
    const int n = sizes.size();
    std::array<int, Dims::kCapacity> perm{};
    for (int i = 0; i < n; ++i) perm[static_cast<std::size_t>(i)] = n - 1 - i;
    // Insertion sort that leaves ambiguous pairs alone, as the original does.
    for (int i = 1; i < n; ++i) {
        int dim1 = i;
        for (int dim0 = i - 1; dim0 >= 0; --dim0) {
            const int comparison =
                should_swap(sizes, strides, perm[static_cast<std::size_t>(dim0)], perm[static_cast<std::size_t>(dim1)]);
            if (comparison > 0) {
                std::swap(perm[static_cast<std::size_t>(dim0)], perm[static_cast<std::size_t>(dim1)]);
                dim1 = dim0;
            } else if (comparison < 0) {
                break;
            }
        }
    }
    return strides_in_order(sizes, {perm.data(), static_cast<std::size_t>(n)});
}

}  // namespace

Dims pointwise_strides(const Dims& sizes, std::span<const Layout> operands) {
    bool same_shape = true;
    bool all_dense = true;  // formally contiguous
    bool symbolic = false;
    const Dims contiguous = contiguous_strides(sizes);
    for (const Layout& o : operands) {
        same_shape = same_shape && o.sizes == sizes;
        all_dense = all_dense && formally_equal(o.strides, contiguous);
        for (const Size s : o.strides) symbolic = symbolic || s.is_symbolic();
    }
    if (same_shape && all_dense) return contiguous;
    // The two short cuts give other strides than the order of strides only where sizes are 1.
    Dims by_order;
    if (symbolic) {
        by_order = strides_by_order(sizes, operands);
        if (formally_equal(by_order, contiguous)) return contiguous;
    }
    if (same_shape) {
        bool all_contiguous = true;
        for (const Layout& o : operands) all_contiguous = all_contiguous && is_contiguous(o.sizes, o.strides);
        if (all_contiguous) return contiguous;
        bool equal = is_non_overlapping_and_dense(operands[0].sizes, operands[0].strides);
        for (const Layout& o : operands) equal = equal && o.strides == operands[0].strides;
        if (equal) return operands[0].strides;
    }
    return symbolic ? by_order : strides_by_order(sizes, operands);
}

Dims preserved_strides(const Dims& sizes, const Dims& strides) {
    if (is_non_overlapping_and_dense(sizes, strides)) return strides;
    const Layout self{sizes, strides};
    return pointwise_strides(sizes, {&self, 1});
}

}  // namespace vramfit::engine
