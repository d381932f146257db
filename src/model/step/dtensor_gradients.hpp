// Gradients in pieces beside whole ones: tensor parallelism with modules that it does not split.
#pragma once

#include "model/network/run.hpp"

namespace vramfit::model {

/// has_mixed_dtensor (trainer_optimizer.py): whether both pieces and plain tensors are trained. Throws Error (invalid)
/// where the optimizer or its scaler would stop at them.
bool trains_mixed(const Run& run, Network& network);

/// Trainer._mixed_mesh_grad_norm: cut gradients and whole ones have a norm each.
Tensor clip_cut_gradients(const Run& run, Network& network);

}  // namespace vramfit::model
