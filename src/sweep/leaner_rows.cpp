// unsloth and unsloth_zoo 2026.10.7: what is decided by the memory that is free (predict/unsloth_on_card.cpp).
#include "sweep/leaner_rows.hpp"

#include "vramfit/sweep/sweep.hpp"

namespace vramfit {

bool may_fit_leaner(const SweepQuestion& question, std::size_t place, std::int64_t requested, PhaseKind at,
                    std::int64_t limit) {
    if (question.base.loop.kind != LoopKind::unsloth || !question.device.capacity_known) return false;
    if (at == PhaseKind::head) return true;
    const TrainPlan plan = plan_of(question.space, question.base, place);
    const std::int64_t tokens = plan.training.per_device_train_batch_size * plan.batch.sequence_length;
    const std::int64_t embedding = question.model.tie_word_embeddings ? 0 : question.model.vocab_size;
    constexpr std::int64_t kBytes = 2;  // of a number in 16 bits
    return requested - kBytes * question.model.hidden_size * (tokens + embedding) <= limit;
}

}  // namespace vramfit
