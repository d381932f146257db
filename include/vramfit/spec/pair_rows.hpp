// The rows of preference training as collators pad them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "vramfit/spec/train_plan.hpp"

namespace vramfit {

/// What LLaMA-Factory's collators pad rows to (train/dpo/workflow.py and its neighbours, pad_to_multiple_of).
inline constexpr std::int64_t kFactoryMultiple = 8;

/// Makes the longest row a multiple of so many tokens: the others are that much shorter than it.
void pad_rows(BatchPlan& batch, std::int64_t multiple);

/// Of a list that says something of each row, over and over.
inline std::int64_t of_row(const std::vector<std::int64_t>& list, std::size_t row) { return list[row % list.size()]; }

/// Tokens of chosen completions, or of those of rows that stand alone: of the longest one and of the shortest one.
struct CompletionLengths {
    std::int64_t longest = 0, shortest = 0;
};
CompletionLengths completion_lengths(const BatchPlan& batch);

/// The rows that GRPO or RLOO generates at once.
struct GroupRows {
    std::int64_t rows = 0;        ///< of which each has a completion
    std::int64_t prompt = 0;      ///< tokens of the longest one, to which the others are padded on the left
    std::int64_t completion = 0;  ///< tokens of the longest one, to which the others are padded on the right
    bool prompts_differ = false;
    bool pads = false;         ///< each batch of training has a row with padding
    std::int64_t shorter = 0;  ///< tokens that the completions of a batch lack, all together

    std::int64_t tokens() const { return prompt + completion; }
};
GroupRows group_rows(const TrainPlan& plan);

/// Whether a prediction of the plan holds however the rows are dealt out to batches: trl draws that at random.
bool batches_are_known(const TrainPlan& plan);

}  // namespace vramfit
