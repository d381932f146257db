// One stage of a pipeline: torch 2.11 distributed/pipelining/stage.py PipelineStage, for a network that is split by
// hand.
#pragma once

#include <map>
#include <memory>
#include <vector>

#include "model/causal_lm/causal_lm.hpp"
#include "spec/network/rewritten/stage.hpp"

namespace vramfit::model {

/// Tensors that are sent or received at once: what torch.distributed.P2POp holds.
using PeerOps = std::vector<Tensor>;
/// torch.distributed.Work of such a batch: the moment on NCCL's stream, or nothing where nothing was sent.
using PeerWork = std::optional<engine::StreamClock>;

/// schedules.py _batch_p2p: batch_isend_irecv. csrc/distributed/c10d/ProcessGroupNCCL.cpp pointToPoint marks each
/// tensor as used on NCCL's stream (recordStream), so that memory that is freed waits for it.
PeerWork send_and_receive(engine::Session& session, const PeerOps& ops);
/// schedules.py _wait_batch_p2p: the current stream waits.
void wait_for(engine::Session& session, const PeerWork& work);

class PipelineStage {
  public:
    /// The layers of `whole` that stage `index` of `count` has, moved to the device. The first stage has the embedding,
    /// the last one norm and head; a shared weight is on both.
    PipelineStage(const Run& run, const Network& whole, std::int64_t index, std::int64_t count);

    std::int64_t index() const { return index_; }
    bool is_first() const { return index_ == 0; }
    bool is_last() const { return index_ == count_ - 1; }
    Network& network() { return network_; }

    /// _get_init_p2p_neighbors_ops: tensors of one element.
    PeerOps greet_neighbours();
    /// _prepare_forward_infra and _prepare_backward_infra: a buffer for all that is received in a step, kept to the
    /// end.
    void make_activation_buffers(std::int64_t micro_batches);
    void make_gradient_buffers(std::int64_t micro_batches);
    /// clear_runtime_states.
    void clear();

    /// forward_one_chunk. `batch` -- the micro batch's part of the batch on the device.
    Tensor forward(const Batch& batch, const Place& place, bool keeps_output);
    /// backward_one_chunk. `loss` -- of the last stage.
    void backward(const Tensor& loss, const Place& place);

    PeerOps received_activations(std::int64_t micro) const;
    PeerOps received_gradients(std::int64_t micro) const;
    PeerOps sent_activations(std::int64_t micro) const;
    /// get_bwd_send_ops: the stage itself lets go of the gradient.
    PeerOps sent_gradients(std::int64_t micro);

    const std::vector<Tensor>& output_chunks() const { return output_chunks_; }

  private:
    Tensor compute(const Batch& batch, const Place& place);
    std::vector<Tensor> make_buffers(std::int64_t micro_batches, bool require_grad);

    Run run_;
    std::int64_t index_;
    std::int64_t count_;
    network::StageLayers layers_;
    Network network_;
    std::shared_ptr<const network::Document> recording_;  ///< of the stage; null: the family's own forward
    std::shared_ptr<RecordedModel> recorded_;
    std::vector<Tensor> activations_;  ///< received, one for each micro batch
    std::vector<Tensor> gradients_;
    std::map<std::int64_t, Tensor> outputs_;   ///< fwd_cache
    std::map<std::int64_t, Tensor> of_input_;  ///< bwd_cache
    std::vector<Tensor> output_chunks_;
};

}  // namespace vramfit::model
