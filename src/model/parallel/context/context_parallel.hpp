// Context parallelism: each process has a part of every sequence.
#pragma once

#include <optional>
#include <vector>

#include "engine/ops/attention.hpp"
#include "model/network/run.hpp"

namespace vramfit::model {

/// The processes that share a sequence; none: it is whole.
std::optional<engine::Ring> ring_of(const TrainPlan& plan);

/// Whether the part of this process has places that are padded.
bool sees_padding(const TrainPlan& plan);

/// accelerate's maybe_context_parallel: cuts the batch, and holds what torch's context_parallel does as long as one
/// batch is trained on.
class CutBatch {
  public:
    CutBatch(const Run& run, Batch& batch);

  private:
    std::vector<Tensor> shards_;
    Tensor last_;
};

}  // namespace vramfit::model
