// Tensors as values: shape, strides, dtype and a shared storage, no contents. Copies share; the last one frees.
#pragma once

#include <cstdint>
#include <memory>

#include "engine/dims.hpp"
#include "engine/op.hpp"
#include "engine/ref.hpp"
#include "vramfit/base/dtype.hpp"
#include "vramfit/trace/category.hpp"
#include "vramfit/trace/phase.hpp"

namespace vramfit::engine {

class Session;
struct Node;
void hold(Node* node);
void drop(Node* node);

/// The memory behind one or more tensors; its end is the free event.
struct Storage {
    std::uint32_t refs = 0;
    std::uint32_t id = 0;  ///< allocation of the program
    Size bytes = 0;        ///< 0: not on the device
    Session* session = nullptr;
    Size kept_bytes = 0;        ///< of a second allocation, where formulas leave open which of the two there is
    std::uint32_t kept_id = 0;  ///< its allocation of the program
};
void end(Storage* storage);
inline void hold(Storage* storage) { ++storage->refs; }
inline void drop(Storage* storage) {
    if (--storage->refs == 0) end(storage);
}

struct TensorImpl;
void hold(TensorImpl* impl);
void drop(TensorImpl* impl);

/// What c10::TensorImpl and its AutogradMeta hold.
struct TensorImpl {
    TensorImpl(Session& on, Ref<Storage> memory, const Dims& of_sizes, const Dims& of_strides, DType type)
        : dtype(type), session(&on), storage(std::move(memory)), sizes(of_sizes), strides(of_strides) {}

    std::uint32_t refs = 0;
    DType dtype = DType::float32;
    bool requires_grad = false;  ///< of a leaf; a result's follows from grad_fn
    bool is_view = false;
    bool is_piece = false;  ///< a leaf: its gradients are of a larger tensor, or of this piece of it (torch's DTensor)
    bool is_activation = false;  ///< a leaf that is no parameter: an input of what is differentiated by itself
    std::uint16_t output_nr = 0;
    Session* session = nullptr;
    Ref<Storage> storage;
    Dims sizes;
    Dims strides;
    Ref<Node> grad_fn;
    Ref<TensorImpl> grad;
    std::unique_ptr<Phase> on_complete;  ///< of a leaf: the window that begins when its gradient is complete
    Node* accumulator = nullptr;         ///< weak: the AccumulateGrad node of this leaf while a graph holds it
};
void end(TensorImpl* impl);
inline void hold(TensorImpl* impl) { ++impl->refs; }
inline void drop(TensorImpl* impl) {
    if (--impl->refs == 0) end(impl);
}

/// A handle, used like torch.Tensor: copying it is cheap and keeps the storage alive.
class Tensor {
  public:
    Tensor() = default;
    explicit Tensor(Ref<TensorImpl> impl) : impl_(std::move(impl)) {}

    bool defined() const { return static_cast<bool>(impl_); }
    explicit operator bool() const { return defined(); }
    const Dims& sizes() const { return impl_->sizes; }
    const Dims& strides() const { return impl_->strides; }
    Size size(int dim) const { return impl_->sizes[dim]; }
    int dim() const { return impl_->sizes.size(); }
    Size numel() const { return numel_of(impl_->sizes); }
    DType dtype() const { return impl_->dtype; }
    bool requires_grad() const { return impl_->requires_grad || impl_->grad_fn; }
    bool is_leaf() const { return !impl_->grad_fn; }
    bool is_contiguous() const { return engine::is_contiguous(impl_->sizes, impl_->strides); }
    Session& session() const { return *impl_->session; }
    TensorImpl* operator->() const { return impl_.get(); }
    TensorImpl* get() const { return impl_.get(); }
    const Ref<TensorImpl>& ref() const { return impl_; }
    std::uint32_t use_count() const { return impl_->refs; }
    Tensor grad() const { return Tensor(impl_->grad); }
    void reset() { impl_.reset(); }
    void set_requires_grad(bool on) const { impl_->requires_grad = on; }
    friend bool operator==(const Tensor& a, const Tensor& b) { return a.impl_ == b.impl_; }

  private:
    Ref<TensorImpl> impl_;
};

/// A new dense tensor with its own storage.
Tensor empty(Session& session, const Dims& sizes, DType dtype, Op op = Op::empty);
/// The same with given strides; they must be those of a permutation of a dense tensor.
Tensor empty_strided(Session& session, const Dims& sizes, const Dims& strides, DType dtype, Op op);
/// A tensor on the memory of `t` where `clones` is 0, with memory of its own where it is 1. `t` is the last one on
/// its memory, and dies before anything else is allocated.
Tensor moved_or_cloned(const Tensor& t, const Dims& strides, Size clones);
/// A tensor in host memory: it has a shape but its storage is not recorded.
Tensor host_tensor(Session& session, const Dims& sizes, DType dtype);
bool is_on_host(const Tensor& t);

/// Another tensor on the same storage, outside of the graph (torch.Tensor.detach).
Tensor detach(const Tensor& t);
/// Another tensor on the same storage with other sizes and strides, outside of the graph.
Tensor alias(const Tensor& t, const Dims& sizes, const Dims& strides);

/// `t.data = data`: whoever holds `t` sees the other storage, sizes and dtype.
void set_data(const Tensor& t, const Tensor& data);

/// UntypedStorage.resize_(0): the memory behind `t` and all tensors on it ends, they stay.
void release_storage(const Tensor& t);
/// ... and back: it begins anew with the size of `t`, which is dense.
void allocate_storage(const Tensor& t, Op op);

/// Labels the storage of `t` for the report.
void label(const Tensor& t, Category category);
Category label_of(const Tensor& t);

Layout layout_of(const Tensor& t);

}  // namespace vramfit::engine
