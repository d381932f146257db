// What Unsloth keeps for a whole run beside the network: placeholders, tables, scratch, staging buffers.
#pragma once

#include <cstdint>
#include <unordered_map>

#include "model/network/run.hpp"

namespace vramfit::model {

/// models/gemma.py, which differs in little.
inline bool is_gemma(const Run& run) { return run.spec.model_type == "gemma"; }

/// One weight in 16 bits, for the run. A weight holds the memory that it was unpacked into until it is unpacked again,
/// so scratch that a larger one has taken the place of lives on for a while.
class Scratch {
  public:
    /// The weight of a layer in the scratch, or the weight itself where it is not packed.
    Tensor unpack(const Linear& layer);

  private:
    Tensor memory_;
    std::unordered_map<const Linear*, Tensor> holders_;
};

/// The same in memory of its own.
Tensor unpack_once(const Linear& layer);

/// Which rows the tokens of a batch belong to, found once for each batch.
struct RowEnds {
    Tensor lengths;  ///< the batch's
    Tensor ends;     ///< int32 [rows + 1]
};

/// Buffers on the device into which the inputs of layers come back from host memory, and what is known of the passes.
struct Staging {
    Tensor first, second;
    bool first_forward = true;  ///< no layer is known to be the last
    bool uses_both = false;
    bool has_asked = false;  ///< whether there is room for the second one
};

/// The loss's kernels, compiled for the first tokens that they are given; other numbers run by them too.
struct LossKernel {
    bool is_compiled = false;
    Size pieces;  ///< of which a token's sum is made
};

/// What is compiled while the tokens are as many as the network is wide is compiled for equal numbers of both.
struct LossKernels {
    LossKernel square, general;
};

/// cos and sin of so many positions.
struct PositionTables {
    Tensor cos, sin;
    Size rows;
};

/// Objects of Unsloth's that live as long as the process.
struct Unsloth {
    Tensor cos, sin;        ///< placeholders of one element, which stay
    PositionTables tables;  ///< of all positions
    Tensor frequencies;     ///< float32 [head / 2]
    bool has_tables = false;
    bool embedding_on_host = false;
    Scratch scratch;
    Staging staging;
    RowEnds rows;
    std::int64_t rows_read = 0;                  ///< of the data, by all batches so far
    bool asked_for_kernels[2] = {false, false};  ///< with and without gradients
    bool has_checked_norm = false;
    bool has_asked_for_loss = false;
    bool has_compiled_loss = false;  ///< or has run it
    bool has_tried_product = false;
    LossKernels loss_kernels;
};

}  // namespace vramfit::model
