// Micro batches that record what an earlier one recorded are written again instead of being run again.
#pragma once

#include <array>
#include <vector>

#include "model/causal_lm/causal_lm.hpp"
#include "model/step/optimizer.hpp"

namespace vramfit::model {

/// What one micro batch wrote down, and whether another one behind it writes the same. A micro batch's events depend on
/// the parameters, on whether they have gradients, and on the workspaces of libraries that exist. Of those that meet
/// the same gradients (the first ones of each step none, the others all) every further one's events are those of one
/// before, with other allocations, and without those of workspaces, which are made once.
class RepeatedMicroBatch {
  public:
    RepeatedMicroBatch(engine::Session& session, const Optimizer& optimizer)
        : session_(&session), optimizer_(&optimizer) {}

    /// Before the first event of a micro batch, where its loss is there and the one before it is about to be freed, and
    /// behind its last one. `loss` is all that one leaves to the next beside gradients.
    void begin(const Tensor& loss);
    void has_loss();
    void end(const Tensor& loss, const Batch& batch, const Tensor& items);
    /// What was remembered holds no longer.
    void forget() { known_ = false; }

    /// Whether a micro batch that would begin now is one of those.
    bool holds() const;
    /// Writes the micro batch again at this place; `loss` becomes the new one's. What of the batch is kept for the
    /// backward pass is labelled so.
    void write(const Place& place, const Tensor& loss, const Batch& batch, const Tensor& items, bool ends_forward);

  private:
    /// A gradient that it made.
    struct Gradient {
        engine::TensorImpl* leaf;
        engine::Dims sizes, strides;
        DType dtype;
        std::size_t storage;  ///< its place among those of all gradients
    };
    /// A parameter, which is the same as long as its memory is.
    struct Parameter {
        const engine::TensorImpl* tensor;
        const engine::Storage* storage;
        bool has_gradient;
        friend bool operator==(const Parameter&, const Parameter&) = default;
    };
    std::vector<Parameter> parameters() const;
    bool take_gradients();
    bool is_all_that_is_left() const;
    void make_gradients(const std::vector<std::uint32_t>& numbers);

    engine::Session* session_;
    const Optimizer* optimizer_;
    bool known_ = false;
    engine::Stretch stretch_;
    std::uint32_t loss_ = 0;
    Category fresh_ = Category::temporaries;
    engine::Module module_;
    std::array<Category, 5> labels_ = {};  ///< of the batch's tensors and the number of its items
    std::vector<Parameter> parameters_;
    std::vector<Gradient> gradients_;
    std::vector<engine::Storage> storages_;  ///< of the gradients
};

}  // namespace vramfit::model
