// Tensor parallelism of transformers: weights are cut over the processes, activations summed or gathered between them.
#pragma once

#include <functional>

#include "model/network/run.hpp"

namespace vramfit::model {

/// Whether `from_pretrained` cuts the network.
bool is_tensor_parallel(const TrainPlan& plan);

/// The forward of a layer whose weight is cut: x -- what the module before it gives, whole or in pieces.
Tensor cut_linear(const Linear& layer, const Tensor& x);

/// The same for a weight that is not the layer's: an adapter's.
Tensor cut_product(Cut cut, std::int64_t pieces, const Tensor& x, const Tensor& weight, const Tensor& bias = {});

/// The rows of the table that other processes have are zeros until they are summed.
Tensor cut_embedding(const Embedding& layer, const Tensor& ids);
/// The same of a class that computes in its own way, in `forward`.
Tensor cut_embedding(engine::Session& session, const std::function<Tensor()>& forward);
/// torch.nn.functional.embedding inside of that, of a table that is one of `pieces`.
Tensor embedding_of_piece(const Tensor& piece, std::int64_t pieces, const Tensor& ids);

/// torch 2.11 distributed/tensor/_api.py DTensor.full_tensor of a weight that is cut by rows: -- [pieces * rows, in].
Tensor whole_weight(const Tensor& weight, std::int64_t pieces);

/// MoeExpertsParallel around experts whose weights are cut: gradients of what goes in are summed, and what comes out.
Tensor summed_in_backward(const Tensor& x);
void sum_in_place(const Tensor& partial);

/// A module inside of torch.nn.Module.register_full_backward_hook, whose gradients are summed there.
Tensor with_full_backward_hook(const Tensor& input, const std::function<Tensor(const Tensor&)>& forward);

}  // namespace vramfit::model
