// The causal language-model loss.
#include "engine/ops/loss.hpp"

#include "engine/ops/copy.hpp"
#include "engine/ops/pointwise.hpp"
#include "engine/ops/view.hpp"
#include "model/losses/loss.hpp"
#include "vramfit/base/error.hpp"

namespace vramfit::model {

using namespace engine;

namespace {

/// fixed_cross_entropy.
Tensor divided(const Tensor& loss, const Tensor& items) { return items.defined() ? div(loss, items) : loss; }

// transformers 4.40 models/*/modeling_*.py XForCausalLM.forward: logits and labels are shifted.
Tensor shifted_loss(const Tensor& logits, const Tensor& labels, const Tensor& items) {
    const Size length = labels.size(-1);
    Tensor shifted_logits = contiguous(whole(slice(logits, 1, 0, length - 1), 2));
    Tensor shifted_labels = contiguous(slice(labels, -1, 1, length));
    shifted_logits = view(shifted_logits, {-1, shifted_logits.size(-1)});
    shifted_labels = view(shifted_labels, {-1});
    return divided(cross_entropy(shifted_logits, shifted_labels), items);
}

}  // namespace

void refuse_without_gradient(const Tensor& loss) {
    if (loss.requires_grad()) return;
    throw Error(
        ErrorKind::invalid, "training.gradient_checkpointing",
        "element 0 of tensors does not require grad and does not have a grad_fn (torch): the input of the first "
        "layer needs no gradient",
        "gradient_checkpointing_kwargs {\"use_reentrant\": false}, prepare_kbit, or loop.input_require_grads");
}

// transformers 5.17 loss/loss_utils.py ForCausalLMLoss with shift_labels.
Tensor shifted_labels_loss(const Tensor& source, const Tensor& shifted_labels, const Tensor& items) {
    Tensor logits = to(source, DType::float32);
    logits = view(logits, {-1, logits.size(-1)});
    return divided(cross_entropy(logits, view(shifted_labels, {-1})), items);
}

// transformers 4.46 to 5.17 loss/loss_utils.py ForCausalLMLoss, fixed_cross_entropy: its arguments go first.
Tensor causal_lm_loss(const Run& run, const Tensor& source, const Tensor& targets, const Tensor& items) {
    Tensor shifted, labels;
    Tensor logits = to(source, DType::float32);
    if (run.stack.loss_shifts_logits()) return shifted_loss(logits, targets, items);
    labels = pad_last(targets, 1);
    shifted = slice(labels, -1, 1, labels.size(-1));
    shifted = contiguous(shifted);
    logits = view(logits, {-1, logits.size(-1)});
    shifted = view(shifted, {-1});
    return divided(cross_entropy(logits, shifted), items);
}

}  // namespace vramfit::model
