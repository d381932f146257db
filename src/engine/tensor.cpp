// Creation and end of tensors and storages.
#include "engine/tensor.hpp"

#include "engine/session.hpp"

namespace vramfit::engine {

void end(Storage* storage) {
    Session& session = *storage->session;
    session.recorder.free(storage->id, storage->bytes);
    if (!same(storage->kept_bytes, 0)) session.recorder.free(storage->kept_id, storage->kept_bytes);
    session.storages.recycle(storage);
}

void end(TensorImpl* impl) { impl->session->tensors.recycle(impl); }

namespace {

Tensor tensor_on(Session& session, Ref<Storage> storage, const Dims& sizes, const Dims& strides, DType dtype) {
    return Tensor(Ref<TensorImpl>(session.tensors.make(session, std::move(storage), sizes, strides, dtype)));
}

Tensor host_strided(Session& session, const Dims& sizes, const Dims& strides, DType dtype) {
    Storage* storage = session.storages.make();
    storage->session = &session;
    storage->id = Recorder::kNoId;
    return tensor_on(session, Ref<Storage>(storage), sizes, strides, dtype);
}

}  // namespace

Tensor empty_strided(Session& session, const Dims& sizes, const Dims& strides, DType dtype, Op op) {
    if (session.on_host) return host_strided(session, sizes, strides, dtype);
    const Size bytes = numel_of(sizes) * element_size(dtype);
    Storage* storage = session.storages.make();
    storage->session = &session;
    storage->bytes = bytes;
    storage->id = session.recorder.alloc(bytes, op);
    return tensor_on(session, Ref<Storage>(storage), sizes, strides, dtype);
}

Tensor empty(Session& session, const Dims& sizes, DType dtype, Op op) {
    return empty_strided(session, sizes, contiguous_strides(sizes), dtype, op);
}

Tensor host_tensor(Session& session, const Dims& sizes, DType dtype) {
    return host_strided(session, sizes, contiguous_strides(sizes), dtype);
}

bool is_on_host(const Tensor& t) { return same(t->storage->bytes, 0); }

// One recording for both: the old memory's bytes are those that the clone leaves behind, none where it is moved, and a
// second allocation in their place, none where it is cloned, lives on.
Tensor moved_or_cloned(const Tensor& t, const Dims& strides, Size clones) {
    Storage& old = *t->storage;
    const Size left = old.bytes * clones;
    const Size kept = old.bytes - left;
    const std::uint32_t kept_id = t.session().recorder.split(old.id, left, kept);
    old.bytes = left;
    Session& session = t.session();
    Storage* storage = session.storages.make();
    storage->session = &session;
    storage->kept_id = kept_id;
    storage->kept_bytes = kept;
    storage->bytes = t.numel() * element_size(t.dtype()) * clones;
    storage->id = session.recorder.alloc(storage->bytes, Op::clone);
    return tensor_on(session, Ref<Storage>(storage), t.sizes(), strides, t.dtype());
}

Tensor alias(const Tensor& t, const Dims& sizes, const Dims& strides) {
    Tensor out = tensor_on(t.session(), t->storage, sizes, strides, t.dtype());
    out->is_view = true;
    return out;
}

Tensor detach(const Tensor& t) { return alias(t, t.sizes(), t.strides()); }

void set_data(const Tensor& t, const Tensor& data) {
    t->dtype = data.dtype();
    t->sizes = data.sizes();
    t->strides = data.strides();
    t->storage = data->storage;
}

void release_storage(const Tensor& t) {
    Storage& storage = *t->storage;
    t.session().recorder.free(storage.id, storage.bytes);
    storage.bytes = 0;
    storage.id = Recorder::kNoId;
}

void allocate_storage(const Tensor& t, Op op) {
    Storage& storage = *t->storage;
    storage.bytes = t.numel() * element_size(t.dtype());
    storage.id = t.session().recorder.alloc(storage.bytes, op);
}

void label(const Tensor& t, Category category) {
    const Storage& storage = *t->storage;
    t.session().recorder.label(storage.id, category);
    if (!same(storage.kept_bytes, 0)) t.session().recorder.label(storage.kept_id, category);
}

Category label_of(const Tensor& t) {
    const Storage& storage = *t->storage;
    const bool has_first = storage.id != Recorder::kNoId || same(storage.kept_bytes, 0);
    return t.session().recorder.label_of(has_first ? storage.id : storage.kept_id);
}

Layout layout_of(const Tensor& t) { return {t.sizes(), t.strides()}; }

}  // namespace vramfit::engine
