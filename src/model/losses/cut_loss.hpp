// axolotl's cut cross entropy: the loss from hidden states and the head's weight, without logits.
#pragma once

#include "model/network/run.hpp"

namespace vramfit::model {

inline bool cuts_cross_entropy(const Run& run) { return run.plan.training.cut_cross_entropy; }

/// apply_lce: hidden -- [B, S, H], weight -- [V, H], labels -- [B, S]; every position but a row's first has a label.
Tensor cut_loss(const Tensor& hidden, const Tensor& weight, const Tensor& labels, const Tensor& items);

}  // namespace vramfit::model
