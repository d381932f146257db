// What a micro batch leaves behind, and how it is made once more.
#include "model/loops/repeated.hpp"

#include <algorithm>

namespace vramfit::model {

using namespace engine;

namespace {

std::uint32_t id_of(const Tensor& t) { return t.defined() && !is_on_host(t) ? t->storage->id : Recorder::kNoId; }

std::array<const Tensor*, 5> labelled(const Batch& batch, const Tensor& items) {
    return {&batch.input_ids, &batch.attention_mask, &batch.labels, &items, &batch.completion_mask};
}

}  // namespace

std::vector<RepeatedMicroBatch::Parameter> RepeatedMicroBatch::parameters() const {
    std::vector<Parameter> out;
    for (const ParameterGroup& group : optimizer_->groups)
        for (const NamedParameter& p : group.parameters) {
            const TensorImpl* impl = p.tensor->get();
            out.push_back({impl, impl->storage.get(), static_cast<bool>(impl->grad)});
        }
    return out;
}

void RepeatedMicroBatch::begin(const Tensor& loss) {
    stretch_ = {};
    stretch_.begin = session_->recorder.written_to();
    stretch_.before = id_of(loss);
    parameters_ = parameters();
}

void RepeatedMicroBatch::has_loss() { stretch_.frees_before = session_->recorder.written_to().events; }

/// Notes the gradients that were not there when it began; false if they are not what gradients of leaves are.
bool RepeatedMicroBatch::take_gradients() {
    gradients_.clear();
    storages_.clear();
    std::vector<const Storage*> seen;
    for (const Parameter& p : parameters_) {
        auto* leaf = const_cast<TensorImpl*>(p.tensor);
        if (p.has_gradient || !leaf->grad) continue;
        const TensorImpl& grad = *leaf->grad;
        if (grad.grad_fn || grad.grad || grad.requires_grad || grad.is_view) return false;
        const auto at = std::find(seen.begin(), seen.end(), grad.storage.get());
        gradients_.push_back({leaf, grad.sizes, grad.strides, grad.dtype, static_cast<std::size_t>(at - seen.begin())});
        if (at != seen.end()) continue;
        seen.push_back(grad.storage.get());
        storages_.push_back(*grad.storage);
    }
    return true;
}

/// Whether nothing outlives it but gradients, its loss and workspaces.
bool RepeatedMicroBatch::is_all_that_is_left() const {
    std::vector<std::uint32_t> known = {loss_};
    for (const Storage& s : storages_) {
        if (!same(s.bytes, 0)) known.push_back(s.id);
        if (!same(s.kept_bytes, 0)) known.push_back(s.kept_id);
    }
    known.insert(known.end(), stretch_.stay.begin(), stretch_.stay.end());
    std::sort(known.begin(), known.end());
    return session_->recorder.left_by(stretch_) == known;
}

void RepeatedMicroBatch::end(const Tensor& loss, const Batch& batch, const Tensor& items) {
    Recorder& recorder = session_->recorder;
    known_ = false;
    if (!recorder.keeps_program() || session_->after_accumulate || session_->after_backward || session_->module_hooks)
        return;
    stretch_.end = recorder.written_to();
    loss_ = id_of(loss);
    fresh_ = recorder.fresh;
    module_ = recorder.module;
    const auto stays = [&](const Tensor& t) {
        if (t.defined() && t->storage->id >= stretch_.begin.allocations) stretch_.stay.push_back(t->storage->id);
    };
    const Workspaces& workspaces = session_->workspaces;
    for (const auto& of_streams : workspaces.cublas) std::for_each(std::begin(of_streams), std::end(of_streams), stays);
    std::for_each(std::begin(workspaces.cublaslt), std::end(workspaces.cublaslt), stays);
    const bool owns_loss = loss_ != Recorder::kNoId && loss->storage->refs == 1 && same(loss->storage->kept_bytes, 0);
    known_ = owns_loss && recorder.is_closed(stretch_) && take_gradients() && is_all_that_is_left();
    for (std::size_t i = 0; i < labels_.size(); ++i) labels_[i] = recorder.label_of(id_of(*labelled(batch, items)[i]));
}

bool RepeatedMicroBatch::holds() const { return known_ && parameters() == parameters_; }

void RepeatedMicroBatch::make_gradients(const std::vector<std::uint32_t>& numbers) {
    const auto number_of = [&](std::uint32_t id) { return numbers[id - stretch_.begin.allocations]; };
    std::vector<Ref<Storage>> made;
    for (const Storage& known : storages_) {
        Storage* storage = session_->storages.make();
        *storage = known;
        storage->refs = 0;
        if (!same(known.bytes, 0)) storage->id = number_of(known.id);
        if (!same(known.kept_bytes, 0)) storage->kept_id = number_of(known.kept_id);
        made.emplace_back(storage);
    }
    for (const Gradient& g : gradients_)
        g.leaf->grad = Ref<TensorImpl>(
            session_->tensors.make(*session_, Ref<Storage>(made[g.storage]), g.sizes, g.strides, g.dtype));
}

void RepeatedMicroBatch::write(const Place& place, const Tensor& loss, const Batch& batch, const Tensor& items,
                               bool ends_forward) {
    Recorder& recorder = session_->recorder;
    const auto numbers = recorder.write_again(stretch_, {place.step, place.micro, ends_forward, id_of(loss)});
    loss->storage->id = numbers[loss_ - stretch_.begin.allocations];
    make_gradients(numbers);
    recorder.fresh = fresh_;
    recorder.module = module_;
    for (std::size_t i = 0; i < labels_.size(); ++i) recorder.label(id_of(*labelled(batch, items)[i]), labels_[i]);
}

}  // namespace vramfit::model
