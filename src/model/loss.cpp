// The causal language-model loss.
#include "engine/ops/loss.hpp"

#include "engine/ops/copy.hpp"
#include "engine/ops/pointwise.hpp"
#include "engine/ops/view.hpp"
#include "model/causal_lm.hpp"

namespace vramfit::model {

using namespace engine;

namespace {

// transformers 4.40 models/*/modeling_*.py XForCausalLM.forward: logits and labels are shifted.
Tensor shifted_loss(const Tensor& logits, const Tensor& labels) {
    const Size length = labels.size(-1);
    Tensor shifted_logits = contiguous(whole(slice(logits, 1, 0, length - 1), 2));
    Tensor shifted_labels = contiguous(slice(labels, -1, 1, length));
    shifted_logits = view(shifted_logits, {-1, shifted_logits.size(-1)});
    shifted_labels = view(shifted_labels, {-1});
    return cross_entropy(shifted_logits, shifted_labels);
}

}  // namespace

// transformers 5.17 loss/loss_utils.py ForCausalLMLoss, fixed_cross_entropy.
Tensor causal_lm_loss(const Run& run, const Tensor& source, const Tensor& targets, const Tensor& items) {
    if (run.stack.loss_shifts_logits()) return shifted_loss(source, targets);
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
