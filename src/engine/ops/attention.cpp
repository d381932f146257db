// F.scaled_dot_product_attention (torch 2.11 ATen/native/transformers/attention.cpp).
#include "engine/ops/attention.hpp"

#include "engine/autocast.hpp"
#include "engine/ops/copy.hpp"
#include "engine/ops/pad.hpp"
#include "engine/ops/pointwise.hpp"
#include "engine/ops/view.hpp"
#include "engine/session.hpp"
#include "vramfit/base/checked.hpp"
#include "vramfit/base/error.hpp"

namespace vramfit::engine {

Ref<Node> attention_node(const NodeType& type, const Tensor& query, const Tensor& key, const Tensor& value) {
    if (!needs_grad(query, key, value)) return {};
    Ref<Node> node = make_node(query.session(), type);
    for (const Tensor* t : {&query, &key, &value}) {
        add_edge(*node, *t);
        node->save(*t);
    }
    return node;
}

void save_result(const Ref<Node>& node, const AttentionResult& result) {
    set_history(result.output, node);
    for (const Tensor* t : {&result.output, &result.logsumexp, &result.seed, &result.offset}) node->save(*t, true);
}

void give_gradients(const Node& node, const AttentionGradients& gradients, Grads& out) {
    if (node.wants(0)) out[0] = gradients.query;
    if (node.wants(1)) out[1] = gradients.key;
    if (node.wants(2)) out[2] = gradients.value;
}

namespace {

constexpr Size kAlignment = 8;

/// aligned_tensor<8>.
bool aligned(const Tensor& mask) {
    for (int i = 0; i < mask.dim() - 1; ++i)
        if (mask.strides()[i] % kAlignment != 0) return false;
    return mask.strides()[-1] == 1;
}

/// preprocess_mask: rows start at multiples of 8 elements, all heads see it.
Tensor preprocessed_mask(const Tensor& mask, const Tensor& query, const Tensor& key) {
    Tensor result = mask;
    if (!mask.session().decide("aligned mask", aligned(mask))) {
        const Size last = mask.size(-1);
        const Tensor padded = pad_end(mask, kAlignment - last % kAlignment);
        result = slice(padded, -1, 0, last);
    }
    return expand(result, {query.size(0), query.size(1), query.size(2), key.size(2)});
}

Tensor padded_head(const Tensor& t) {
    const Size over = t.size(-1) % kAlignment;
    return over == 0 ? t : pad_end(t, kAlignment - over);
}

Tensor padded_flash_attention(const Tensor& query, const Tensor& key, const Tensor& value,
                              const AttentionArguments& arguments) {
    const Tensor q = padded_head(query);
    const Tensor k = padded_head(key);
    const Tensor v = padded_head(value);
    const Tensor out = flash_attention(q, k, v, arguments.is_causal, arguments.dropout);
    return out.size(-1) == query.size(-1) ? out : slice(out, -1, 0, query.size(-1));
}

Tensor run(SdpaKernel kernel, const Tensor& query, const Tensor& key, const Tensor& value, const Tensor& mask,
           const AttentionArguments& arguments) {
    if (arguments.ring) return ring_attention(kernel, query, key, value, arguments);
    if (kernel == SdpaKernel::flash) return padded_flash_attention(query, key, value, arguments);
    Tensor additive = additive_mask(mask, query.dtype());
    if (additive.defined() && needs_grad(additive) && kernel == SdpaKernel::cudnn)
        throw Error(ErrorKind::unsupported, "load.sdpa_kernel",
                    "a mask with a gradient was compared with the memory-efficient kernel alone",
                    "sdpa_kernel \"efficient\", or a GPU for which PyTorch chooses it");
    switch (kernel) {
        case SdpaKernel::efficient:
            if (additive.defined()) additive = preprocessed_mask(additive, query, key);
            return efficient_attention(query, key, value, additive, arguments.dropout);
        case SdpaKernel::cudnn: return cudnn_attention(query, key, value, additive);
        default: return math_attention(query, key, value, additive, arguments);
    }
}

}  // namespace

Tensor additive_mask(const Tensor& mask, DType dtype) {
    if (!mask.defined() || mask.dtype() != DType::boolean) return mask;
    Session& session = mask.session();
    if (session.stack.attention_fills_boolean_masks()) {
        const Tensor filled = empty_strided(session, mask.sizes(), preserved_strides(mask.sizes(), mask.strides()),
                                            dtype, Op::zeros_like);
        const Tensor masked = compare(Op::logical_not, mask);
        return filled;
    }
    const Tensor outside = empty(session, {}, dtype, Op::scalar_tensor);
    Tensor inverse;
    if (session.stack.attention_inverts_boolean_masks()) inverse = compare(Op::logical_not, mask);
    const Tensor inside = empty(session, {}, dtype, Op::scalar_tensor);
    return where(mask, inside, outside);
}

Tensor repeat_interleave(const Tensor& t, Size times, int dim) {
    dim = dim < 0 ? dim + t.dim() : dim;
    const Tensor one = unsqueeze(t, dim + 1);
    Dims sizes = one.sizes();
    sizes[dim + 1] = times;
    Dims flat = t.sizes();
    flat[dim] = times * t.size(dim);
    return view(clone_contiguous(expand(one, sizes)), flat);
}

Tensor scaled_dot_product_attention(const Tensor& query, const Tensor& key, const Tensor& value, const Tensor& mask,
                                    const AttentionArguments& arguments) {
    // The last argument is cast first: g++ evaluates arguments from the right (autocast_mode.h WrapFunction_).
    const Tensor m = autocast_to_lower(mask);
    const Tensor v = autocast_to_lower(value);
    const Tensor k = autocast_to_lower(key);
    const Tensor q = autocast_to_lower(query);
    // The operator itself runs without autocast.
    const Scoped<bool> off(query.session().autocast.enabled, false);
    return run(choose_attention(q, k, v, m, arguments), q, k, v, m, arguments);
}

}  // namespace vramfit::engine
