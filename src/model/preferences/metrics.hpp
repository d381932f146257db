// What trl's trainers of preferences read on the host for their logs.
#pragma once

#include "engine/tensor.hpp"
#include "model/network/run.hpp"

namespace vramfit::model {

/// value.item() of a temporary.
void read_item(const Tensor& t);
void read_sum(const Tensor& t);
void read_mean(const Tensor& t);

/// accelerator.gather(t): of all processes, or the tensor itself.
Tensor gathered(const Run& run, const Tensor& t);

/// accelerator.reduce(t, "sum"): a clone, added up over all processes.
Tensor summed_over_ranks(const Run& run, const Tensor& t);

/// (part / all).item() if all > 0.
void read_ratio(const Tensor& part, const Tensor& all);

/// values[mask.bool()].sum(), of so many places.
Tensor sum_where(const Tensor& values, const Tensor& mask, const Size& count);

}  // namespace vramfit::model
