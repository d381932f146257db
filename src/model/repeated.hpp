// Micro batches that record what an earlier one recorded are written again instead of being run again.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "model/causal_lm.hpp"

namespace vramfit::model {

/// What one micro batch wrote down, and whether another one behind it writes the same. A micro batch that is not the
/// first of its step meets gradients that exist and, from the ones before it, nothing but their loss: then its events
/// depend on nothing else, and every further one's are the same with other allocations.
class RepeatedMicroBatch {
  public:
    explicit RepeatedMicroBatch(engine::Session& session) : session_(&session) {}

    /// Before the first event of a micro batch, and behind its last one. `loss` is all that one leaves to the next.
    void begin(const Tensor& loss);
    void end(const Tensor& loss, const Batch& batch);
    /// What was remembered holds no longer.
    void forget() { known_ = false; }

    bool is_known() const { return known_; }
    /// Writes the micro batch again at this place; `loss` becomes the new one's. `ends_forward` puts the mark of the
    /// last forward pass where the backward pass begins. What of the batch is kept for the backward pass is labelled
    /// so.
    void write(const Place& place, Tensor& loss, const Batch& batch, bool ends_forward);

  private:
    struct Range {
        std::size_t begin = 0, end = 0;
    };
    bool leaves_only(std::uint32_t loss_before, std::uint32_t loss) const;

    engine::Session* session_;
    bool known_ = false;
    std::uint32_t loss_before_ = 0;
    std::uint32_t loss_ = 0;
    std::array<Category, 3> batch_ = {};  ///< of its tensors
    Range events_, allocations_, windows_;
};

}  // namespace vramfit::model
