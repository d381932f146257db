// unsloth and unsloth_zoo 2026.10.7: what is decided by the memory that is free (predict/unsloth_on_card.cpp).
#include "sweep/leaner_rows.hpp"

#include "predict/unsloth_on_card.hpp"

namespace vramfit {

bool may_fit_leaner(const SweepQuestion& question, std::size_t place, const BesideLoss& beside_loss,
                    std::int64_t limit) {
    if (!asks_card(question.base, question.device)) return false;
    const TrainPlan plan = plan_of(question.space, question.base, place);
    const std::int64_t embedding = question.model.tie_word_embeddings ? 0 : question.model.vocab_size;
    constexpr std::int64_t kBytes = 2;  // of a number in 16 bits
    return beside_loss() - kBytes * question.model.hidden_size * (tokens_of_batch(plan) + embedding) <= limit;
}

}  // namespace vramfit
