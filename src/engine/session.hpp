// One recording in progress: the recorder and the modes that PyTorch keeps per thread.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <unordered_map>
#include <vector>

#include "engine/module_hooks.hpp"
#include "engine/node.hpp"
#include "engine/pool.hpp"
#include "engine/recorder.hpp"
#include "engine/streams.hpp"
#include "engine/tensor.hpp"
#include "engine/workspaces.hpp"
#include "vramfit/spec/device.hpp"
#include "vramfit/spec/stack.hpp"

namespace vramfit::engine {

/// The thread that runs: forward and Python in `main`, the backward pass in `autograd`.
enum class Thread : std::uint8_t { main, autograd };

/// Library handles' scratch that stays once taken, one for each thread and stream (ATen/cuda/CublasHandlePool.cpp).
struct Workspaces {
    Tensor cublas[2][kStreams];
    Tensor cublaslt[2];  ///< on the default stream, which alone it is used on
};

/// What torch.autocast remembers. There the casts end in the order of a hash of addresses, here in the order in which
/// they were made: a program must not depend on where the engine's own objects lie.
struct CastCache {
    std::vector<std::pair<Tensor, Tensor>> casts;         ///< source, cast
    std::unordered_map<TensorImpl*, std::size_t> places;  ///< of a source in `casts`
};

/// torch.autocast: on or off, its dtype, and the casts of trainable fp32 leaves it remembers.
struct Autocast {
    bool enabled = false;
    bool remembers = true;  ///< casts of weights: not in torch.inference_mode()
    DType dtype = DType::bfloat16;
    int nesting[2] = {0, 0};  ///< by thread
    CastCache cache;
};

/// Which saved-tensor hooks are on (torch.autograd.graph.saved_tensors_hooks): checkpointing's two.
struct SavedHook {
    enum class Kind : std::uint8_t { none, pack, recompute } kind = Kind::none;
    Ref<CheckpointFrame> frame;
};

class Session {
  public:
    Session(const Stack& on_stack, const Device& on_device, Keep keep = Keep::program)
        : recorder(keep),
          stack(on_stack),
          device(on_device),
          cublas_workspace_bytes(engine::cublas_workspace_bytes(on_stack, on_device)),
          cublaslt_workspace_bytes(engine::cublaslt_workspace_bytes(on_stack, on_device)) {}
    /// Records formulas over these symbols.
    Session(const Stack& on_stack, const Device& on_device, const symbolic::Symbols& symbols, Keep keep)
        : recorder(symbols, keep),
          stack(on_stack),
          device(on_device),
          cublas_workspace_bytes(engine::cublas_workspace_bytes(on_stack, on_device)),
          cublaslt_workspace_bytes(engine::cublaslt_workspace_bytes(on_stack, on_device)) {}
    Session(const Session&) = delete;
    Session& operator=(const Session&) = delete;

    // The pools come first: whatever else holds a tensor must be gone before them.
    Pool<Storage> storages;
    Pool<TensorImpl> tensors;
    Pool<Node> nodes;
    Pool<Holder> holders;
    Pool<TaskState> task_states;

    Recorder recorder;
    Streams streams{recorder};
    const Stack& stack;
    const Device& device;
    bool grad_enabled = true;
    bool training = true;  ///< modules drop out and checkpoint: model.train()
    Thread thread = Thread::main;
    bool recomputing = false;
    std::uint32_t recomputed_from = 0;  ///< the first allocation that the recomputation can have made
    Module loss;                        ///< what is not the head's behind the layers
    bool on_host = false;               ///< new tensors are in host memory
    bool loads_again = false;           ///< weights come to a device where others are already
    bool has_sorted_logits = false;     ///< the function that axolotl's cut cross entropy compiles has run
    bool repeats = true;                ///< what repeats is written again instead of being run
    /// After a gradient has been added to a leaf: register_post_accumulate_grad_hook and DDP's hooks.
    std::function<void(const Tensor& leaf)> after_accumulate;
    /// register_post_accumulate_grad_hook runs once the gradient that came has been let go of; a hook of the node's
    /// (Node::add_post_hook) gets it.
    bool hook_gets_gradient = true;
    /// At the end of a backward pass (Engine::queue_callback).
    std::function<void()> after_backward;
    ModuleHooks* module_hooks = nullptr;  ///< around all modules; null: none
    Autocast autocast;
    bool casts_pieces = false;         ///< what is cast is torch's DTensor
    bool pieces_were_cast = false;     ///< ... and was in a backward pass
    Tensor* mask_of_lookup = nullptr;  ///< where a lookup in a part of a table leaves which rows others have
    SavedHook saved_hook;
    /// By thread: torch/csrc/autograd (torch 2.11 aten/src/ATen/SequenceNumber.cpp) counts nodes in a thread_local.
    std::array<std::uint64_t, 2> next_sequence{};
    const std::int64_t cublas_workspace_bytes;
    const std::int64_t cublaslt_workspace_bytes;
    Workspaces workspaces;
    /// cuBLAS' scratch of the thread that runs and its stream.
    Tensor& cublas_scratch() { return workspaces.cublas[static_cast<int>(thread)][recorder.stream]; }
    const Tensor& cublas_scratch() const { return workspaces.cublas[static_cast<int>(thread)][recorder.stream]; }
    Tensor dynamic_code;        ///< bitsandbytes functional.py name2qmap["dynamic"], of all packed networks
    std::vector<Node*> doomed;  ///< nodes waiting for deletion
    bool deleting = false;

    /// What is made from here on is the head's or the loss's; until the backward pass begins.
    void begin_loss() {
        loss = {-1, recorder.intern("loss")};
        recorder.fresh = Category::logits_and_loss;
        recorder.module = loss;
    }
    void end_loss() {
        recorder.fresh = Category::temporaries;
        recorder.module = {};
    }
    /// Whether the recomputation that runs has made the memory of `t`.
    bool is_recomputed(const Tensor& t) const { return recomputing && t->storage->id >= recomputed_from; }
    std::int64_t decide(Question question, Size answer) { return recorder.decide(question, answer); }
};

/// Sets a mode for a scope and puts the old value back.
template <class T>
class Scoped {
  public:
    Scoped(T& place, T value) : place_(place), old_(std::move(place)) { place_ = std::move(value); }
    Scoped(const Scoped&) = delete;
    Scoped& operator=(const Scoped&) = delete;
    ~Scoped() { place_ = std::move(old_); }

  private:
    T& place_;
    T old_;
};

/// A checkpointed unit runs once more: what it makes is no gradient.
class Recomputing {
  public:
    explicit Recomputing(Session& session)
        : from_(session.recomputed_from, session.recomputing ? session.recomputed_from : session.recorder.next_id()),
          running_(session.recomputing, true),
          fresh_(session.recorder.fresh, Category::temporaries) {}

  private:
    Scoped<std::uint32_t> from_;
    Scoped<bool> running_;
    Scoped<Category> fresh_;
};

/// torch.no_grad() or torch.enable_grad() for a scope.
class GradMode : Scoped<bool> {
  public:
    GradMode(Session& session, bool on) : Scoped(session.grad_enabled, on) {}
};

}  // namespace vramfit::engine
