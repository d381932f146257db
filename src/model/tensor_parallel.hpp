// Tensor parallelism of transformers: weights are cut over the processes, activations summed or gathered between them.
#pragma once

#include <functional>

#include "model/causal_lm.hpp"

namespace vramfit::model {

/// Whether `from_pretrained` cuts the network.
bool is_tensor_parallel(const TrainPlan& plan);

/// apply_tensor_parallelism, before anything is loaded: the sizes of modules become those of one process. Throws Error
/// (invalid) with the library's reason where they cannot be.
void cut_network(const Run& run, Network& network);

/// The forward of a layer whose weight is cut: x -- what the module before it gives, whole or in pieces.
Tensor cut_linear(const Linear& layer, const Tensor& x);

/// The same for a weight that is not the layer's: an adapter's.
Tensor cut_product(Cut cut, std::int64_t pieces, const Tensor& x, const Tensor& weight, const Tensor& bias = {});

/// The rows of the table that other processes have are zeros until they are summed.
Tensor cut_embedding(const Embedding& layer, const Tensor& ids);

/// torch 2.11 distributed/tensor/_api.py DTensor.full_tensor of a weight that is cut by rows: -- [pieces * rows, in].
Tensor whole_weight(const Tensor& weight, std::int64_t pieces);

/// MoeExpertsParallel around experts whose weights are cut: gradients of what goes in are summed, and what comes out.
Tensor summed_in_backward(const Tensor& x);
void sum_in_place(const Tensor& partial);

/// A module inside of torch.nn.Module.register_full_backward_hook, whose gradients are summed there.
Tensor with_full_backward_hook(const Tensor& input, const std::function<Tensor(const Tensor&)>& forward);

/// has_mixed_dtensor (trainer_optimizer.py): whether both pieces and plain tensors are trained. Throws Error (invalid)
/// where the optimizer or its scaler would stop at them.
bool trains_mixed(const Run& run, Network& network);

/// Trainer._mixed_mesh_grad_norm: cut gradients and whole ones have a norm each.
Tensor clip_cut_gradients(const Run& run, Network& network);

}  // namespace vramfit::model
