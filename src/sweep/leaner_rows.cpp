// unsloth and unsloth_zoo 2026.10.7: what is decided by the memory that is free (predict/unsloth_on_card.cpp).
#include "sweep/leaner_rows.hpp"

namespace vramfit {

bool asks_for_memory(const SweepQuestion& question) {
    return question.base.loop.kind == LoopKind::unsloth && question.device.capacity_known;
}

bool may_fit_leaner(const SweepQuestion& question, std::size_t place, std::int64_t beside_loss, std::int64_t limit) {
    if (!asks_for_memory(question)) return false;
    const TrainPlan plan = plan_of(question.space, question.base, place);
    const std::int64_t tokens = plan.training.per_device_train_batch_size * plan.batch.sequence_length;
    const std::int64_t embedding = question.model.tie_word_embeddings ? 0 : question.model.vocab_size;
    constexpr std::int64_t kBytes = 2;  // of a number in 16 bits
    return beside_loss - kBytes * question.model.hidden_size * (tokens + embedding) <= limit;
}

}  // namespace vramfit
