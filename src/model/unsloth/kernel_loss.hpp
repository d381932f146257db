// The cross entropy of releases after 2026.10.7: head, loss and gradient by kernels that nobody compiles first.
#pragma once

#include "model/network/run.hpp"
#include "model/unsloth/unsloth.hpp"

namespace vramfit::model {

/// What is counted of a batch.
struct CountedLabels {
    const Tensor& items;  ///< num_items_in_batch
    Size tokens;          ///< of this batch
};

/// The loss of the hidden states; `labels` are not shifted yet.
Tensor kernel_loss(const Run& run, const Tensor& hidden, const Tensor& weight, const Tensor& labels,
                   const CountedLabels& scored);

/// The number of labels, 1 where there are none.
Tensor divisor_of(const Tensor& items);

}  // namespace vramfit::model
