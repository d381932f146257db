// Scaled dot-product attention: the choice of the kernel and the kernels' tensors.
#pragma once

#include <optional>

#include "engine/node.hpp"
#include "engine/tensor.hpp"
#include "vramfit/spec/train_plan.hpp"

namespace vramfit::engine {

/// The processes over which context parallelism cuts a sequence, and which of them this one is.
struct Ring {
    std::int64_t size = 1;
    std::int64_t rank = 0;
    bool gathers = true;  ///< keys and values come by one all-gather, else from neighbour to neighbour
};

struct AttentionArguments {
    bool is_causal = false;
    bool enable_gqa = false;
    double dropout = 0.0;
    std::optional<SdpaKernel> forced;  ///< all other kernels are switched off
    std::optional<Ring> ring;          ///< query, key and value are this process's part of the sequence
};

/// What a kernel gives besides its output, and what of its state the backward needs.
struct AttentionResult {
    Tensor output;  ///< [B, H, S, D]
    Tensor logsumexp;
    Tensor seed;
    Tensor offset;
};

/// Gradients of query, key and value, [B, H, S, D] each, and of an additive mask that wants one.
struct AttentionGradients {
    Tensor query, key, value, bias = {};
};

/// What the kernels' nodes share. A node of this type that saves query, key and value; null where none needs a
/// gradient.
Ref<Node> attention_node(const NodeType& type, const Tensor& query, const Tensor& key, const Tensor& value);
/// The node becomes the output's, and saves all of the result.
void save_result(const Ref<Node>& node, const AttentionResult& result);
/// Gradients of those inputs that want one.
void give_gradients(const Node& node, const AttentionGradients& gradients, Grads& out);

/// F.scaled_dot_product_attention. query -- [B, H, S, D], key and value -- [B, Hk, S, D], mask -- undefined,
/// bool or additive, broadcastable to [B, H, S, S]. Result [B, H, S, D]. Throws Error (unsupported) if no
/// kernel is left. Casts under autocast.
Tensor scaled_dot_product_attention(const Tensor& query, const Tensor& key, const Tensor& value, const Tensor& mask,
                                    const AttentionArguments& arguments);

/// sdp::select_sdp_backend: the first kernel in PyTorch's order that takes these tensors on this card.
/// Throws Error (unsupported) if none does.
SdpaKernel choose_attention(const Tensor& query, const Tensor& key, const Tensor& value, const Tensor& mask,
                            const AttentionArguments& arguments);

/// convert_boolean_attn_mask: 0 where a bool mask is true, else minus infinity. Other masks as they are.
Tensor additive_mask(const Tensor& mask, DType dtype);

/// aten::_scaled_dot_product_flash_attention without a tape.
AttentionResult flash_forward(const Tensor& query, const Tensor& key, const Tensor& value, double dropout);
/// aten::_scaled_dot_product_flash_attention_backward.
AttentionGradients flash_backward(const Tensor& grad, const Tensor& query, const Tensor& key, const Tensor& value,
                                  const Tensor& output);
/// aten::_scaled_dot_product_efficient_attention without a tape or bias.
AttentionResult efficient_forward(const Tensor& query, const Tensor& value, bool with_logsumexp, bool drops);
/// aten::_scaled_dot_product_efficient_attention_backward; `bias` where it wants a gradient, else undefined.
AttentionGradients efficient_backward(const Tensor& grad, const Tensor& query, const Tensor& key, const Tensor& value,
                                      const Tensor& bias, const Tensor& output, bool drops);
/// aten::_scaled_dot_product_cudnn_attention without a tape.
AttentionResult cudnn_forward(const Tensor& query, const Tensor& value, bool with_logsumexp);
/// aten::_scaled_dot_product_cudnn_attention_backward.
AttentionGradients cudnn_backward(const Tensor& query, const Tensor& key, const Tensor& value);

/// Attention over a sequence of which each process has a part
/// (torch/distributed/tensor/experimental/_context_parallel). Throws Error (unsupported) for kernels that it was not
/// compared with.
Tensor ring_attention(SdpaKernel kernel, const Tensor& query, const Tensor& key, const Tensor& value,
                      const AttentionArguments& arguments);

/// aten::_scaled_dot_product_flash_attention; the head size must be a multiple of 8.
Tensor flash_attention(const Tensor& query, const Tensor& key, const Tensor& value, bool is_causal, double dropout);
/// flash_api.cpp set_params_splitkv without dropout: over how many parts the keys are split. query -- [B, S, H, D].
Size flash_splits(Size processors, const Tensor& query, Size keys);
/// aten::_scaled_dot_product_efficient_attention; `bias` may be undefined, else [B, H, S, S].
Tensor efficient_attention(const Tensor& query, const Tensor& key, const Tensor& value, const Tensor& bias,
                           double dropout);
/// aten::_scaled_dot_product_cudnn_attention; `bias` may be undefined.
Tensor cudnn_attention(const Tensor& query, const Tensor& key, const Tensor& value, const Tensor& bias);
/// aten::_scaled_dot_product_attention_math; `mask` may be undefined, else it is additive.
Tensor math_attention(const Tensor& query, const Tensor& key, const Tensor& value, const Tensor& mask,
                      const AttentionArguments& arguments);

/// Tensor.repeat_interleave(times, dim) for one number of times: always a copy.
Tensor repeat_interleave(const Tensor& t, Size times, int dim);

}  // namespace vramfit::engine
