// Scaled dot-product attention: the choice of the kernel and the kernels' tensors.
#pragma once

#include <optional>

#include "engine/tensor.hpp"
#include "vramfit/spec/train_plan.hpp"

namespace vramfit::engine {

struct AttentionArguments {
    bool is_causal = false;
    bool enable_gqa = false;
    double dropout = 0.0;
    std::optional<SdpaKernel> forced;  ///< all other kernels are switched off
};

/// F.scaled_dot_product_attention. query -- [B, H, S, D], key and value -- [B, Hk, S, D], mask -- undefined,
/// bool or additive, broadcastable to [B, H, S, S]. Result [B, H, S, D]. Throws Error (unsupported) if no
/// kernel is left. Casts under autocast.
Tensor scaled_dot_product_attention(const Tensor& query, const Tensor& key, const Tensor& value, const Tensor& mask,
                                    const AttentionArguments& arguments);

/// aten::_scaled_dot_product_flash_attention.
Tensor flash_attention(const Tensor& query, const Tensor& key, const Tensor& value, bool is_causal, double dropout);
/// aten::_scaled_dot_product_efficient_attention; `bias` may be undefined.
Tensor efficient_attention(const Tensor& query, const Tensor& key, const Tensor& value, const Tensor& bias,
                           bool is_causal, double dropout);
/// aten::_scaled_dot_product_attention_math; `mask` may be undefined.
Tensor math_attention(const Tensor& query, const Tensor& key, const Tensor& value, const Tensor& mask,
                      const AttentionArguments& arguments);

}  // namespace vramfit::engine
