// trl 1.16 kernels/chunked_logprob.py ChunkedLogProbFunction, with Triton's kernels.
#include "model/losses/chunked_log_prob.hpp"

#include <algorithm>

#include "engine/node.hpp"
#include "engine/ops/copy.hpp"
#include "engine/ops/matmul.hpp"
#include "engine/ops/pointwise.hpp"
#include "engine/ops/reduce.hpp"
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

/// The head's parameters; without a bias that is undefined.
struct Head {
    Tensor weight;
    Tensor bias;
};

/// Walks over the tiles as forward and backward do. The products write into given tensors: no memory of their own.
/// Returns the last `hidden_chunk`, a local variable that lives as long as the caller's others.
template <class OnTile>
[[nodiscard]] Tensor for_each_tile(const Tensor& hidden, const Head& head, DType compute, OnTile on_tile) {
    const Size n = hidden.size(0), vocabulary = head.weight.size(0);
    Tensor hidden_chunk;
    for (Size token = 0; token < n; token += kTokens) {
        hidden_chunk = to(cut(hidden, token, std::min(token + kTokens, n)), compute);
        for (Size start = 0; start < vocabulary; start += kVocabulary) {
            const Size end = std::min(start + kVocabulary, vocabulary);
            on_tile(hidden_chunk.size(0),
                    Head{cut(head.weight, start, end), head.bias.defined() ? cut(head.bias, start, end) : Tensor()});
        }
    }
    return hidden_chunk;
}

Tensor tile_buffer(const Tensor& hidden, DType compute) {
    return empty(hidden.session(), {std::min(hidden.size(0), kTokens), kVocabulary}, compute);
}

/// tile.add_(bias[start:end].to(compute_dtype)): in place.
void add_bias(const Tensor& bias, DType compute) {
    if (bias.defined()) (void)to(bias, compute);
}

/// tile.sum(dim=0, dtype=torch.float32) of the buffer's first rows and columns.
void sum_over_tokens(const Tensor& buffer, Size tokens, Size columns) {
    (void)sum_dim(alias(buffer, {tokens, columns}, buffer.strides()), 0, false, DType::float32);
}

/// _addmm_fp32: 16-bit operands go into the product as they are, others are float32 already. A sum of one row is what
/// torch takes for a bias (ATen/native/cuda/Blas.cpp isInputCompliesAddmmCudaLt), and leaves it to cuBLASLt.
void add_product(Session& session, Question what, const Size& rows, const Size& inner) {
    if (session.stack.addmm_takes_one_row_for_a_bias() && session.decide(what, rows == 1 && inner > 1))
        cublaslt_workspace(session);
    else
        cublas_workspace(session);
}

void chunked_backward(Node& node, Grads& in, Grads& out) {
    Session& session = *node.session;
    const Tensor hidden = node.unpack(0);
    const Head head{node.unpack(1), node.ints[0] > 0 ? node.unpack(2) : Tensor()};
    const DType compute = node.dtypes[0];
    Tensor grad_hidden, grad_weight, grad_bias;
    if (node.wants(0)) grad_hidden = zeros(session, hidden.sizes(), DType::float32);
    if (node.wants(1)) grad_weight = zeros(session, head.weight.sizes(), DType::float32);
    if (head.bias.defined() && node.wants(2)) grad_bias = zeros(session, head.bias.sizes(), DType::float32);
    const Tensor buffer = tile_buffer(hidden, compute);
    const Tensor grad = in[0].defined() ? contiguous(to(in[0], DType::float32)) : Tensor();
    Tensor w_chunk;
    const Tensor hidden_chunk = for_each_tile(hidden, head, compute, [&](Size tokens, const Head& chunk) {
        w_chunk = to(chunk.weight, compute);
        cublas_workspace(session);
        add_bias(chunk.bias, compute);
        const Size words = w_chunk.size(0);
        if (node.wants(0)) add_product(session, "one token in a tile", tokens, words);
        if (node.wants(1)) add_product(session, "one word in a tile", words, tokens);
        if (grad_bias.defined()) sum_over_tokens(buffer, tokens, w_chunk.size(0));
    });
    if (node.wants(0)) out[0] = to(grad_hidden, hidden.dtype());
    if (node.wants(1)) out[1] = to(grad_weight, head.weight.dtype());
    if (grad_bias.defined()) out[2] = to(grad_bias, head.bias.dtype());
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

Scored score(const Tensor& hidden, const Head& head, DType compute, const ScoreParts& parts) {
    Session& session = hidden.session();
    const GradMode no_grad(session, false);
    const Statistics s(session, hidden.size(0));
    const Tensor buffer = tile_buffer(hidden, compute);
    const Tensor hidden_chunk = for_each_tile(hidden, head, compute, [&](Size, const Head& chunk) {
        {
            const Tensor w_chunk = to(chunk.weight, compute);
            cublas_workspace(session);
        }
        add_bias(chunk.bias, compute);
    });
    Scored out;
    out.log_z = add(s.running_max, pointwise_result(s.sum_exp, DType::float32, Op::log));
    out.scores.log_probs = sub(s.target_logit, out.log_z);
    if (parts.entropy) out.scores.entropy = sub(out.log_z, div(s.x_sum_exp, s.sum_exp));
    if (parts.mean_logits) out.scores.mean_logits = div(s.z_sum, 1);
    if (!parts.is_top1) return out;
    const Tensor largest = compare(Op::ge, s.target_logit, s.running_max);
    const Tensor first = compare(Op::gt, s.target_logit, s.max_before_target);
    out.scores.is_top1 = compare(Op::bitwise_and, largest, first);
    return out;
}

}  // namespace

TokenScores chunked_log_prob(const Tensor& hidden, const Tensor& weight, const Tensor& bias, const Tensor& targets,
                             const ScoreParts& parts) {
    Session& session = hidden.session();
    const DType compute = session.autocast.enabled ? session.autocast.dtype : hidden.dtype();
    Ref<Node> node;
    if (needs_grad(hidden, weight, bias)) {
        node = make_node(session, kChunkedBackward);
        add_edge(*node, hidden);
        add_edge(*node, weight);
        add_edge(*node, bias);
        node->dtypes[0] = compute;
    }
    Scored scored = score(hidden, {weight, bias}, compute, parts);
    if (!node) return scored.scores;
    set_history(scored.scores.log_probs, node);
    if (parts.entropy) set_history(scored.scores.entropy, node);
    node->save(hidden);
    node->save(weight);
    if (bias.defined()) {
        node->ints[0] = 1;
        node->save(bias);
    }
    node->save(targets);
    node->save(scored.log_z);
    if (parts.entropy) node->save(scored.scores.entropy, true);
    return scored.scores;
}

}  // namespace vramfit::model
