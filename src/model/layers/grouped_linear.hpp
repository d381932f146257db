// One product for each expert over rows that stand in the order of their experts.
#pragma once

#include "model/layers/experts.hpp"

namespace vramfit::model {

/// transformers integrations/moe.py _grouped_linear: x -- [S, in], weight -- [E, out, in], or [E, in, out] if it is
/// transposed; offs -- [E] int32, bias -- [S, out] or undefined.
Tensor grouped_linear(const Tensor& x, const Tensor& weight, const Tensor& offs, const Tensor& bias, bool transposed);

/// The biases of these rows' experts; undefined where there are none.
Tensor biases_of(const ExpertWeights& weights, int bias, const Tensor& expert_ids);

}  // namespace vramfit::model
