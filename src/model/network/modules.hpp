// Forward passes of the modules: linear layers with what is around them, norms, embeddings.
#pragma once

#include "model/network/network.hpp"

namespace vramfit::model {

/// A linear layer as peft and bitsandbytes leave it: x -- [..., in] to [..., out].
Tensor forward(const Linear& layer, const Tensor& x);
/// The layer without its adapter.
Tensor base_forward(const Linear& layer, const Tensor& x);

/// torch.nn.functional.linear, or what a library has put in its place.
Tensor functional_linear(const Tensor& x, const Tensor& weight, const Tensor& bias = {});

/// The token embedding without its adapter, scaled where the family says so.
Tensor base_forward(const Embedding& layer, const Tensor& ids);
/// A table with its adapter.
Tensor forward(const Embedding& layer, const Tensor& ids);
/// Token embedding with its adapter and the hook of enable_input_require_grads.
Tensor embed(const Network& network, const Tensor& ids);

/// What the hook of enable_input_require_grads makes of the token embedding's output.
Tensor with_input_gradient(const Embedding& layer, const Tensor& out);

/// LlamaRMSNorm: float32 inside, the weight multiplied in the input's dtype.
Tensor llama_norm(const Norm& norm, const Tensor& hidden);
/// GemmaRMSNorm: everything in float32, cast at the end.
Tensor gemma_norm(const Norm& norm, const Tensor& hidden);
/// Olmo2RMSNorm, GptOssRMSNorm: the weight multiplied in float32.
Tensor olmo2_norm(const Norm& norm, const Tensor& hidden);
/// nn.LayerNorm.
Tensor layer_norm(const Norm& norm, const Tensor& hidden);

Tensor centred_norm(const Norm& norm, const Tensor& hidden);

}  // namespace vramfit::model
