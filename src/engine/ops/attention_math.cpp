// Attention made of matrix products (torch 2.11 ATen/native/transformers/attention.cpp
// _scaled_dot_product_attention_math).
#include "engine/ops/attention.hpp"
#include "engine/ops/copy.hpp"
#include "engine/ops/dropout.hpp"
#include "engine/ops/in_place.hpp"
#include "engine/ops/matmul.hpp"
#include "engine/ops/pointwise.hpp"
#include "engine/ops/softmax.hpp"
#include "engine/ops/view.hpp"
#include "engine/session.hpp"

namespace vramfit::engine {

namespace {

/// Lower triangle of ones, as an additive mask.
Tensor causal_mask(Session& session, Size queries, Size keys, DType dtype) {
    Tensor lower = empty(session, {queries, keys}, DType::boolean, Op::ones);
    lower = empty(session, {queries, keys}, DType::boolean, Op::tril);
    return additive_mask(lower, dtype);
}

}  // namespace

Tensor math_attention(const Tensor& query, const Tensor& key, const Tensor& value, const Tensor& additive,
                      const AttentionArguments& arguments) {
    Session& session = query.session();
    const DType origin = query.dtype();
    const bool upcast = is_half(origin) && session.stack.math_attention_upcasts();
    const DType accumulate = upcast ? DType::float32 : origin;
    const Tensor query_acc = to(query, accumulate);
    const Tensor key_acc = to(key, accumulate);
    const Tensor value_acc = to(value, accumulate);
    Tensor mask = additive;
    const Tensor scaled_query = mul(query_acc, 1.0);
    if (arguments.is_causal) mask = causal_mask(session, query.size(-2), key.size(-2), accumulate);
    Tensor all_keys = key_acc;
    Tensor all_values = value_acc;
    if (const Size groups = query.size(-3) / key.size(-3); arguments.enable_gqa && groups > 1) {
        all_keys = repeat_interleave(key_acc, groups, -3);
        all_values = repeat_interleave(value_acc, groups, -3);
    }
    Tensor scores = matmul(scaled_query, mul(transpose(all_keys, -2, -1), 1.0));
    if (mask.defined()) {
        add_(scores, mask);
        if (needs_grad(mask)) add_in_place(scores, mask);
    }
    scores = session.stack.math_attention_softmax_is_safe() ? safe_softmax(scores) : softmax(scores, false);
    if (arguments.dropout > 0) scores = dropout(scores, arguments.dropout);
    // g++ evaluates the second element of the returned pair, the weights, first.
    const Tensor weights = to(scores, origin);
    return to(matmul(scores, all_values), origin);
}

}  // namespace vramfit::engine
