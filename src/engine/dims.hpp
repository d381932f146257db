// Sizes and strides: small fixed-capacity vectors and PyTorch's rules about layouts.
#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>

#include "symbolic/size.hpp"

namespace vramfit::engine {

/// At most six sizes or strides, in elements.
class Dims {
  public:
    static constexpr int kCapacity = 6;

    Dims() = default;
    Dims(std::initializer_list<Size> values) {
        for (auto v : values) push(v);
    }

    constexpr int size() const { return size_; }
    constexpr Size& operator[](int i) { return values_[static_cast<std::size_t>(i < 0 ? i + size_ : i)]; }
    constexpr Size operator[](int i) const { return values_[static_cast<std::size_t>(i < 0 ? i + size_ : i)]; }
    void push(Size v) { values_[static_cast<std::size_t>(size_++)] = v; }
    constexpr void resize(int n) { size_ = n; }
    constexpr const Size* begin() const { return values_.data(); }
    constexpr const Size* end() const { return values_.data() + size_; }
    Dims insert(int at, Size v) const;
    Dims erase(int at) const;

    friend constexpr bool operator==(const Dims& a, const Dims& b) {
        if (a.size_ != b.size_) return false;
        for (int i = 0; i < a.size_; ++i)
            if (a[i] != b[i]) return false;
        return true;
    }

  private:
    std::array<Size, kCapacity> values_;  // only the first size_ are ever read
    int size_ = 0;
};

/// Product of the sizes; refuses overflow.
Size numel_of(const Dims& sizes);

/// Row-major strides.
Dims contiguous_strides(const Dims& sizes);

/// c10/core/TensorImpl.h compute_contiguous: dimensions of size 1 do not count.
bool is_contiguous(const Dims& sizes, const Dims& strides);

/// Whether each dimension's stride is the product of some others' sizes, whatever they are: dense, then, for all rows,
/// those in which sizes are 1 included. False says nothing.
bool is_formally_dense(const Dims& sizes, const Dims& strides);

/// c10/core/Contiguity.h _compute_non_overlapping_and_dense: some permutation of the dimensions is contiguous.
bool is_non_overlapping_and_dense(const Dims& sizes, const Dims& strides);

/// ATen/TensorUtils.cpp computeStride: the strides of a view of `sizes`/`strides` as `target`, or nothing if only a
/// copy can have it.
std::optional<Dims> view_strides(const Dims& sizes, const Dims& strides, const Dims& target);

/// Resolves one -1 in `target` for a tensor of `numel` elements (ATen/InferSize.h infer_size).
Dims infer_size(const Dims& target, Size numel);

/// ATen/ExpandUtils.cpp infer_size: the common shape of a broadcast.
Dims broadcast_sizes(const Dims& a, const Dims& b);

/// Strides of a tensor broadcast to `target`: 0 where a dimension is repeated.
Dims expand_strides(const Dims& sizes, const Dims& strides, const Dims& target);

/// Sizes and strides of one operand of a pointwise operator.
struct Layout {
    Dims sizes;
    Dims strides;
};

/// ATen/TensorIterator.cpp reorder_dimensions and fast setup: the strides of a pointwise result over `sizes`.
Dims pointwise_strides(const Dims& sizes, std::span<const Layout> operands);

/// Strides of empty_like with preserve_format (ATen/native/TensorFactories.cpp empty_like, ATen/ExpandUtils.cpp
/// infer_dense_strides).
Dims preserved_strides(const Dims& sizes, const Dims& strides);

}  // namespace vramfit::engine
