// trl 1.16 kernels/chunked_logprob.py ChunkedLogProbFunction, with Triton's kernels.
#include "model/chunked_log_prob.hpp"

#include <algorithm>

#include "engine/node.hpp"
#include "engine/ops/copy.hpp"
#include "engine/ops/matmul.hpp"
#include "engine/ops/pointwise.hpp"
#include "engine/ops/view.hpp"

namespace vramfit::model {

using namespace engine;

namespace {

constexpr Size kTokens = 4096;       // TOKEN_CHUNK_SIZE
constexpr Size kVocabulary = 32768;  // trainer/utils.py _CHUNKED_LOGPROB_CHUNK_SIZE

Tensor cut(const Tensor& t, Size begin, Size end) {
    Dims sizes = t.sizes();
    sizes[0] = end - begin;
    return alias(t, sizes, t.strides());
}

/// Walks over the tiles as forward and backward do. The products write into given tensors: no memory of their own.
/// Returns the last `hidden_chunk`, a local variable that lives as long as the caller's others.
template <class OnTile>
[[nodiscard]] Tensor for_each_tile(const Tensor& hidden, const Tensor& weight, DType compute, OnTile on_tile) {
    const Size n = hidden.size(0), vocabulary = weight.size(0);
    Tensor hidden_chunk;
    for (Size token = 0; token < n; token += kTokens) {
        hidden_chunk = to(cut(hidden, token, std::min(token + kTokens, n)), compute);
        for (Size start = 0; start < vocabulary; start += kVocabulary)
            on_tile(cut(weight, start, std::min(start + kVocabulary, vocabulary)));
    }
    return hidden_chunk;
}

Tensor tile_buffer(const Tensor& hidden, DType compute) {
    return empty(hidden.session(), {std::min(hidden.size(0), kTokens), kVocabulary}, compute);
}

/// _addmm_fp32: 16-bit operands go into the product as they are, others are float32 already.
void chunked_backward(Node& node, Grads& in, Grads& out) {
    Session& session = *node.session;
    const Tensor hidden = node.unpack(0);
    const Tensor weight = node.unpack(1);
    const DType compute = node.dtypes[0];
    Tensor grad_hidden, grad_weight;
    if (node.wants(0)) grad_hidden = zeros(session, hidden.sizes(), DType::float32);
    if (node.wants(1)) grad_weight = zeros(session, weight.sizes(), DType::float32);
    const Tensor buffer = tile_buffer(hidden, compute);
    const Tensor grad = in[0].defined() ? contiguous(to(in[0], DType::float32)) : Tensor();
    Tensor w_chunk;
    const Tensor hidden_chunk = for_each_tile(hidden, weight, compute, [&](const Tensor& chunk) {
        w_chunk = to(chunk, compute);
        cublas_workspace(session);
    });
    if (node.wants(0)) out[0] = to(grad_hidden, hidden.dtype());
    if (node.wants(1)) out[1] = to(grad_weight, weight.dtype());
}
const NodeType kChunkedBackward{"ChunkedLogProbFunctionBackward", chunked_backward};

/// The statistics that are gathered over the tiles, float32 [N] each.
struct Statistics {
    Tensor running_max, sum_exp, x_sum_exp, sq_sum_exp, z_sum, max_before_target, target_logit;

    explicit Statistics(Session& session, Size n) {
        const auto numbers = [&](Op op) { return empty(session, {n}, DType::float32, op); };
        running_max = numbers(Op::full);
        for (Tensor* t : {&sum_exp, &x_sum_exp, &sq_sum_exp, &z_sum}) *t = numbers(Op::zeros);
        max_before_target = numbers(Op::full);
        target_logit = numbers(Op::zeros);
    }
};

struct Scored {
    TokenScores scores;
    Tensor log_z;
};

Scored score(const Tensor& hidden, const Tensor& weight, DType compute) {
    Session& session = hidden.session();
    const GradMode no_grad(session, false);
    const Statistics s(session, hidden.size(0));
    const Tensor buffer = tile_buffer(hidden, compute);
    const Tensor hidden_chunk = for_each_tile(hidden, weight, compute, [&](const Tensor& chunk) {
        const Tensor w_chunk = to(chunk, compute);
        cublas_workspace(session);
    });
    Scored out;
    out.log_z = add(s.running_max, pointwise_result(s.sum_exp, DType::float32, Op::log));
    out.scores.log_probs = sub(s.target_logit, out.log_z);
    out.scores.entropy = sub(out.log_z, div(s.x_sum_exp, s.sum_exp));
    const Tensor largest = compare(Op::ge, s.target_logit, s.running_max);
    const Tensor first = compare(Op::gt, s.target_logit, s.max_before_target);
    out.scores.is_top1 = compare(Op::bitwise_and, largest, first);
    return out;
}

}  // namespace

TokenScores chunked_log_prob(const Tensor& hidden, const Tensor& weight, const Tensor& targets) {
    Session& session = hidden.session();
    const DType compute = session.autocast.enabled ? session.autocast.dtype : hidden.dtype();
    Ref<Node> node;
    if (needs_grad(hidden, weight)) {
        node = make_node(session, kChunkedBackward);
        add_edge(*node, hidden);
        add_edge(*node, weight);
        node->dtypes[0] = compute;
    }
    Scored scored = score(hidden, weight, compute);
    if (!node) return scored.scores;
    set_history(scored.scores.log_probs, node);
    set_history(scored.scores.entropy, node);
    node->save(hidden);
    node->save(weight);
    node->save(targets);
    node->save(scored.log_z);
    node->save(scored.scores.entropy, true);
    return scored.scores;
}

}  // namespace vramfit::model
