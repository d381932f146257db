// unsloth and unsloth_zoo 2026.10.7: what is decided by the memory that is free (predict/unsloth_on_card.cpp).
#include "sweep/leaner_rows.hpp"

#include <algorithm>

namespace vramfit {

bool asks_for_memory(const SweepQuestion& question) {
    return question.base.loop.kind == LoopKind::unsloth && question.device.capacity_known;
}

void note_leaner(std::span<const SweepRow* const> rows, Notes& notes) {
    const auto is_leaner = [](const SweepRow* row) { return row->reserved > 0 && row->reserved < row->requested; };
    if (std::none_of(rows.begin(), rows.end(), is_leaner)) return;
    notes.push_back({NoteKind::upper_bound,
                     "requested bytes are those on a card with plenty of memory; where they are more than what is "
                     "reserved, Unsloth takes smaller parts of the loss, one buffer, or the embedding to host memory",
                     "vramfit predict says of a row what it requests"});
}

bool may_fit_leaner(const SweepQuestion& question, std::size_t place, std::int64_t requested, PhaseKind at,
                    std::int64_t limit) {
    if (!asks_for_memory(question)) return false;
    if (at == PhaseKind::head) return true;
    const TrainPlan plan = plan_of(question.space, question.base, place);
    const std::int64_t tokens = plan.training.per_device_train_batch_size * plan.batch.sequence_length;
    const std::int64_t embedding = question.model.tie_word_embeddings ? 0 : question.model.vocab_size;
    constexpr std::int64_t kBytes = 2;  // of a number in 16 bits
    return requested - kBytes * question.model.hidden_size * (tokens + embedding) <= limit;
}

}  // namespace vramfit
