// The scores of completions from whole logits, as trl had them before its fused head.
#pragma once

#include "model/preferences/grpo/scores.hpp"

namespace vramfit::model {

/// As completion_scores, on one GPU.
CompletionScores whole_completion_scores(const Run& run, const Network& network, const ScoredRows& rows,
                                         const Place& place);

}  // namespace vramfit::model
