// Padding of the rows of preference training.
#include "vramfit/spec/pair_rows.hpp"

namespace vramfit {

void pad_rows(BatchPlan& batch, std::int64_t multiple) {
    const std::int64_t padding = (multiple - batch.sequence_length % multiple) % multiple;
    batch.sequence_length += padding;
    for (auto* shorter : {&batch.pairs.chosen_shorter, &batch.pairs.rejected_shorter})
        for (std::int64_t& tokens : *shorter) tokens += padding;
}

}  // namespace vramfit
