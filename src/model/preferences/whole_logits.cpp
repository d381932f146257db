// trl 1.9 and 1.16 trainer/utils.py selective_log_softmax, 1.9 entropy_from_logits; 1.16 kernels/logprob_entropy.py.
#include "model/preferences/whole_logits.hpp"

#include <algorithm>
#include <vector>

#include "engine/node.hpp"
#include "engine/ops/copy.hpp"
#include "engine/ops/in_place.hpp"
#include "engine/ops/index.hpp"
#include "engine/ops/logsumexp.hpp"
#include "engine/ops/nonzero.hpp"
#include "engine/ops/pointwise.hpp"
#include "engine/ops/reduce.hpp"
#include "engine/ops/shape.hpp"
#include "engine/ops/softmax.hpp"
#include "engine/ops/split.hpp"
#include "engine/ops/unary.hpp"
#include "engine/ops/view.hpp"

namespace vramfit::model {

using namespace engine;

namespace {

/// A Python list lets go of its items from behind.
Tensor stacked_list(std::vector<Tensor>& list) {
    Tensor out = stack(list, 0);
    while (!list.empty()) list.pop_back();
    return out;
}

/// Each row's sums one after the other; the difference of all at once.
Tensor by_logsumexp(const Tensor& logits, const Tensor& labels) {
    const Tensor selected = gather(logits, labels);
    std::vector<Tensor> sums;
    for (const Tensor& row : unbind(logits)) sums.push_back(logsumexp(row));
    const Tensor all = stacked_list(sums);
    return sub(selected, unsqueeze(all, -1));
}

/// 16-bit logits: a softmax of each row.
Tensor by_softmax(const Tensor& logits, const Tensor& labels) {
    const Dims sizes = labels.sizes().erase(0), strides = labels.strides().erase(0);
    std::vector<Tensor> picked;
    Tensor row_log_probs, last;
    for (const Tensor& row : unbind(logits)) {
        row_log_probs = log_softmax(row, false);
        last = gather(row_log_probs, alias(labels, sizes, strides));
        picked.push_back(last);
    }
    return stacked_list(picked);
}

/// [R, S - 1, 1].
Tensor without_kernel(const Tensor& logits, const Tensor& labels) {
    const Tensor index = unsqueeze(labels, -1);
    return logits.dtype() == DType::float32 ? by_logsumexp(logits, index) : by_softmax(logits, index);
}

// Saved: logits, index, log_z, expected_logit.
void log_prob_kernel_backward(Node& node, Grads& in, Grads& out) {
    const Tensor logits = node.unpack(0), index = node.unpack(1), log_z = node.unpack(2), expected = node.unpack(3);
    const Tensor grad = contiguous(in[0]);
    out[0] = empty(*node.session, logits.sizes(), logits.dtype(), Op::empty_like);
}
const NodeType kLogProbKernelBackward{"_LogProbEntropyFunctionBackward", log_prob_kernel_backward};

/// Four numbers of each row, of which the entropy is not asked for.
Tensor by_kernel(const Tensor& logits, const Tensor& labels) {
    Session& session = logits.session();
    Ref<Node> node;
    if (needs_grad(logits)) {
        node = make_node(session, kLogProbKernelBackward);
        add_edge(*node, logits);
        node->save(logits);
        node->save(labels);
    }
    Tensor out = empty(session, labels.sizes(), DType::float32);
    const Tensor entropy = empty(session, labels.sizes(), DType::float32, Op::empty_like);
    const Tensor log_z = empty(session, labels.sizes(), DType::float32, Op::empty_like);
    const Tensor expected = empty(session, labels.sizes(), DType::float32, Op::empty_like);
    if (!node) return out;
    node->save(log_z);
    node->save(expected);
    set_history(out, node);
    return out;
}

}  // namespace

Tensor selective_log_softmax(const Tensor& logits, const Tensor& labels) {
    return logits.session().stack.trl_scores_by_kernel() ? by_kernel(logits, labels)
                                                         : squeeze(without_kernel(logits, labels), -1);
}

Tensor completion_log_probs(const Tensor& logits, const Tensor& labels, const Tensor& mask, Op opposite) {
    const Tensor log_probs = without_kernel(logits, labels);
    return fill_squeezed(log_probs, compare(opposite, mask));
}

Tensor entropy_of(const Tensor& logits) {
    constexpr Size kChunk = 128;
    Session& session = logits.session();
    const Dims leading = logits.sizes().erase(logits.dim() - 1);
    const Size words = logits.size(-1);
    const Size rows = numel_of(leading);
    const Tensor flat = reshape(detach(logits), {rows, words});
    const std::int64_t chunks = session.decide("chunks of entropies", (rows + kChunk - 1) / kChunk);
    std::vector<Tensor> entropies;
    Tensor log_probs, entropy;
    for (std::int64_t number = 0; number < chunks; ++number) {
        const Size count = number + 1 < chunks ? kChunk : rows - number * kChunk;
        log_probs = log_softmax(alias(flat, {count, words}, flat.strides()), false);
        const Tensor sum = [&] {
            const Tensor products = mul(exp(log_probs), log_probs);
            return sum_dim(products, 1, false, products.dtype());
        }();
        entropy = neg(sum);
        entropies.push_back(entropy);
    }
    const Tensor all = cat(entropies, 0);
    while (!entropies.empty()) entropies.pop_back();
    return view(all, leading);
}

Tensor sum_of_mean_logits(const Tensor& logits, const Tensor& mask, const Size& count) {
    const Tensor means = [&] {
        const Tensor picked = [&] {
            const Tensor labelled = to(mask, DType::boolean);
            return index_by_mask(detach(logits), labelled, count);
        }();
        return mean_last(picked);
    }();
    return sum_all(means);
}

// The result is there before the mask is cast.
Tensor tokens_of_rows(const Tensor& mask) {
    Tensor out = empty(mask.session(), {mask.size(0)}, DType::int64, Op::sum);
    const Tensor cast = to(mask, DType::int64);
    return out;
}

}  // namespace vramfit::model
