// Runs the tape backwards in the order of PyTorch's engine.
#pragma once

#include <functional>
#include <span>

#include "engine/node.hpp"

namespace vramfit::engine {

/// torch.autograd.backward(roots, grads): every gradient must be defined. Leaves get their `.grad`.
/// The thread becomes the autograd thread for the duration.
/// Source: torch 2.11 torch/csrc/autograd/engine.cpp (evaluate_function, call_function), input_buffer.cpp (accumulate).
void run_backward(std::span<const Tensor> roots, std::span<const Tensor> grads);

/// loss.backward(): makes the gradient of ones that Python holds until the end.
void backward(const Tensor& loss);

/// The AccumulateGrad node of a leaf that requires grad; made when first asked for, alive while a graph holds it.
Ref<Node> accumulator_of(const Tensor& leaf);

/// The gradient buffer of `tensor` is complete: the window `phase` begins at that moment.
void on_gradient_complete(const Tensor& tensor, const Phase& phase);

/// Tensor.register_hook: `hook` runs when the gradient of `t` is complete, before the window that begins then. Returns
/// the node that holds it: of a leaf it is alive only as long as a graph or the caller holds it.
Ref<Node> on_gradient(const Tensor& t, std::function<void()> hook);

}  // namespace vramfit::engine
