// Gradient checkpointing, reentrant and not, as torch/utils/checkpoint.py does it (torch 2.2 to 2.11).
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "engine/node.hpp"

namespace vramfit::engine {

/// The tensors that a unit is called with: the hidden states first. Some may be undefined (None).
using Arguments = std::vector<Tensor>;

/// A checkpointed unit: closes over everything that is no argument (functools.partial).
using Unit = std::function<Tensor(std::span<const Tensor> arguments)>;

/// The same with several results.
using UnitOfSeveral = std::function<std::vector<Tensor>(std::span<const Tensor> arguments)>;

/// torch.utils.checkpoint.checkpoint(unit, *arguments, use_reentrant=True): CheckpointFunction.
Tensor checkpoint_reentrant(Unit unit, const Arguments& arguments);
std::vector<Tensor> checkpoint_reentrant(UnitOfSeveral unit, const Arguments& arguments);

/// The same with use_reentrant=False: saved-tensor hooks, recomputation with early stop. Units may be within units.
Tensor checkpoint_non_reentrant(Unit unit, const Arguments& arguments);
std::vector<Tensor> checkpoint_non_reentrant(UnitOfSeveral unit, const Arguments& arguments);
/// The same of a unit that may have no arguments: what it gets by name it closes over.
std::vector<Tensor> checkpoint_non_reentrant(Session& session, UnitOfSeveral unit, const Arguments& arguments);

/// _CheckpointFrame: what one non-reentrant unit keeps from forward to backward.
struct CheckpointFrame {
    std::uint32_t refs = 0;
    Session* session = nullptr;
    UnitOfSeveral unit;
    Arguments arguments;           ///< held by input_saver's node
    Ref<Node> input_saver;         ///< within another unit, whose hooks take the arguments; null: they are held
    std::vector<bool> needs_grad;  ///< of what input_saver has
    std::vector<Holder*> holders;  ///< weak, in order of saving; null when a node has let go
    std::size_t recomputed = 0;    ///< tensors filled so far
    bool is_recomputed = false;
    bool autocast_enabled = false;
    DType autocast_dtype = DType::bfloat16;
};

/// The pack hook of the forward pass: a placeholder for one saved tensor.
Ref<Holder> pack(CheckpointFrame& frame);

/// The pack hook of the recomputation: fills the next placeholder. Stops the recomputation after the last one.
Tensor recomputed(CheckpointFrame& frame, const Tensor& t);

/// The unpack hook: recomputes the unit if that has not happened yet.
Tensor unpack_holder(Holder& holder);

}  // namespace vramfit::engine
