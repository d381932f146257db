// Mixtures of experts: routers, and the experts as grouped products.
#pragma once

#include "model/layers/inputs.hpp"

namespace vramfit::model {

/// What a router gives for T tokens: logits -- [T, E], weights and numbers of the chosen experts -- [T, k].
struct Routed {
    Tensor logits;
    Tensor weights;
    Tensor experts;
};

/// Where all experts' weights stand in their module: gate_up -- [E, 2I, H] and down -- [E, H, I], or both with the last
/// two dimensions exchanged.
struct ExpertWeights {
    const BareModule* module = nullptr;
    std::size_t gate_up = 0, down = 1;
    int gate_up_bias = -1, down_bias = -1;  ///< [E, 2I] and [E, H]; -1: none
    bool is_transposed = false;
};

/// Makes [S, I] of [S, 2I].
using ApplyGate = Tensor (*)(const Run& run, const Tensor& gate_up);

/// transformers integrations/moe.py grouped_mm_experts_forward: hidden -- [T, H] to [T, H]. Takes the same memory
/// whatever experts the tokens go to.
Tensor grouped_experts(const Run& run, const ExpertWeights& weights, ApplyGate gate, const Tensor& hidden,
                       const Routed& routed);

/// The same as transformers 5.6 has it, for experts without biases.
Tensor grouped_experts_5_6(const Run& run, const ExpertWeights& weights, ApplyGate gate, const Tensor& hidden,
                           const Routed& routed);

/// MixtralSparseMoeBlock, Qwen2MoeSparseMoeBlock, Qwen3MoeSparseMoeBlock: x -- [B, S, H].
Tensor sparse_mlp(const Run& run, const DecoderLayer& layer, const Tensor& x);

}  // namespace vramfit::model
