// The causal language-model loss.
#include "engine/ops/loss.hpp"

#include "engine/ops/copy.hpp"
#include "engine/ops/pointwise.hpp"
#include "engine/ops/view.hpp"
#include "model/causal_lm.hpp"

namespace vramfit::model {

using namespace engine;

// transformers 5.17 loss/loss_utils.py ForCausalLMLoss, fixed_cross_entropy.
Tensor causal_lm_loss(const Run&, const Tensor& source, const Tensor& targets, const Tensor& items) {
    Tensor logits = to(source, DType::float32);
    const Tensor labels = pad_last(targets, 1);
    Tensor shifted = slice(labels, -1, 1, labels.size(-1));
    shifted = contiguous(shifted);
    logits = view(logits, {-1, logits.size(-1)});
    shifted = view(shifted, {-1});
    Tensor loss = cross_entropy(logits, shifted);
    if (items.defined()) loss = div(loss, items);
    return loss;
}

}  // namespace vramfit::model
