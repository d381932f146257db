// Copies of the events, allocations and windows of one micro batch.
#include "model/repeated.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace vramfit::model {

using namespace engine;

namespace {

std::uint32_t id_of(const Tensor& loss) {
    return loss.defined() && loss->storage->bytes != 0 ? loss->storage->id : Recorder::kNoId;
}

std::array<const Tensor*, 3> tensors_of(const Batch& batch) {
    return {&batch.input_ids, &batch.attention_mask, &batch.labels};
}

}  // namespace

void RepeatedMicroBatch::begin(const Tensor& loss) {
    const Program& program = session_->recorder.program();
    loss_before_ = id_of(loss);
    events_.begin = program.events.size();
    allocations_.begin = program.allocations.size();
    windows_.begin = program.windows.size();
}

void RepeatedMicroBatch::end(const Tensor& loss, const Batch& batch) {
    const Program& program = session_->recorder.program();
    loss_ = id_of(loss);
    events_.end = program.events.size();
    allocations_.end = program.allocations.size();
    windows_.end = program.windows.size();
    // Only a whole program of plain sizes can be copied.
    const bool is_plain = session_->recorder.sizes().empty() && events_.end > events_.begin;
    const bool owns_loss = loss.defined() && loss->storage->refs == 1;
    known_ = is_plain && owns_loss && leaves_only(loss_before_, loss_);
    for (std::size_t i = 0; i < batch_.size(); ++i)
        if (const Tensor& t = *tensors_of(batch)[i]; t.defined()) batch_[i] = session_->recorder.label_of(id_of(t));
}

/// Whether all that it allocated but its loss is freed again, and all that it freed was its own or the loss before.
bool RepeatedMicroBatch::leaves_only(std::uint32_t loss_before, std::uint32_t loss) const {
    const Program& program = session_->recorder.program();
    if (loss_before == Recorder::kNoId || loss == Recorder::kNoId) return false;
    if (windows_.end == windows_.begin) return false;
    std::size_t freed = 0;
    bool freed_loss = false;
    for (std::size_t i = events_.begin; i < events_.end; ++i) {
        const Event& event = program.events[i];
        if (event.kind != EventKind::alloc && event.kind != EventKind::free) return false;
        if (event.kind != EventKind::free) continue;
        if (event.id >= allocations_.begin)
            ++freed;
        else if (event.id == loss_before)
            freed_loss = true;
        else
            return false;
    }
    return freed_loss && loss >= allocations_.begin && freed + 1 == allocations_.end - allocations_.begin;
}

void RepeatedMicroBatch::write(const Place& place, Tensor& loss, const Batch& batch, bool ends_forward) {
    Program& program = session_->recorder.program();
    const auto shift = static_cast<std::uint32_t>(program.allocations.size() - allocations_.begin);
    const std::size_t events = program.events.size() - events_.begin;
    const std::uint32_t before = id_of(loss);
    for (std::size_t i = windows_.begin; i < windows_.end; ++i) {
        Window window = program.windows[i];
        window.phase.step = place.step;
        window.phase.micro = place.micro;
        window.first_event += events;
        if (ends_forward && window.phase.kind == PhaseKind::backward_loss)
            program.marks.push_back({fmt::format("step{}.after_forward", place.step + 1), window.first_event});
        program.windows.push_back(window);
    }
    for (std::size_t i = allocations_.begin; i < allocations_.end; ++i)
        program.allocations.push_back(Allocation(program.allocations[i]));
    for (std::size_t i = events_.begin; i < events_.end; ++i) {
        const Event event = program.events[i];
        program.events.push_back({event.kind, event.id == loss_before_ ? before : event.id + shift});
    }
    loss->storage->id = loss_ + shift;
    for (std::size_t i = 0; i < batch_.size(); ++i)
        if (const Tensor& t = *tensors_of(batch)[i]; t.defined()) session_->recorder.label(id_of(t), batch_[i]);
}

}  // namespace vramfit::model
