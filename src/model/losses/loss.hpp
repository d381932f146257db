// The causal language-model loss: inside the model, by version, and as Liger has it.
#pragma once

#include "model/network/run.hpp"

namespace vramfit::model {

/// torch's refusal of a loss that nothing trainable is part of.
void refuse_without_gradient(const Tensor& loss);

/// The loss inside the model, by version; `labels` -- [B, S].
Tensor causal_lm_loss(const Run& run, const Tensor& logits, const Tensor& labels, const Tensor& items);
/// The same where the labels of a part of a sequence are given shifted.
Tensor shifted_labels_loss(const Tensor& source, const Tensor& shifted_labels, const Tensor& items);

/// LigerForCausalLMLoss: hidden -- [B, S, H], labels -- [B, S]; the gradients are made in the forward pass.
Tensor liger_loss(const Tensor& hidden, const Tensor& weight, const Tensor& labels, const Tensor& items);

}  // namespace vramfit::model
