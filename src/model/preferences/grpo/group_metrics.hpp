// What GRPO's and RLOO's trainers read on the host for their logs.
#pragma once

#include "model/network/run.hpp"

namespace vramfit::model {

/// Of a matrix: whether each row has one value, which is then no token's.
bool has_one_value(const Tensor& t);

/// The mean of t over what a mask has, or over the rows where they have one value each, of all processes:
/// accelerator.reduce of both sums.
void read_global_mean(const Run& run, const Tensor& t, const Tensor& mask);

/// The same with the sums as a list's own items (RLOO): gives what the caller holds as a variable.
[[nodiscard]] Tensor read_mean_of_list(const Run& run, const Tensor& t, const Tensor& mask);

/// nanmin(t) or nanmax(t) of one dimension.
void read_extreme(const Tensor& t, engine::Op op);

}  // namespace vramfit::model
