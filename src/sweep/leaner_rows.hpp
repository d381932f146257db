// Rows that a card with little left may run with less than is known of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>

#include "vramfit/sweep/question.hpp"

namespace vramfit {

/// What a row requests at least outside of the loss; 0: it is not known.
using BesideLoss = std::function<std::int64_t()>;

/// Whether a row may fit where only `limit` is free, though it requests more where plenty is: then it has to be
/// replayed. Unsloth cuts its loss into smaller parts there, and does without a buffer and the embedding.
/// `beside_loss` is asked of Unsloth's rows alone.
bool may_fit_leaner(const SweepQuestion& question, std::size_t place, const BesideLoss& beside_loss,
                    std::int64_t limit);

}  // namespace vramfit
