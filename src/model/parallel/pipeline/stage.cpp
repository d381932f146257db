// A stage's parts of the network, its buffers, its forward and its backward.
#include "model/parallel/pipeline/stage.hpp"

#include <utility>

#include "engine/autocast.hpp"
#include "engine/backward.hpp"
#include "engine/ops/copy.hpp"
#include "engine/session.hpp"
#include "model/loading/load.hpp"
#include "model/network/modules.hpp"
#include "model/recorded/model.hpp"
#include "vramfit/base/error.hpp"

namespace vramfit::model {

using namespace engine;

namespace {

constexpr std::uint8_t kPeers = 1;  // NCCL's stream

/// Which layers it has.
network::StageLayers layers_of(const Run& run, std::int64_t index, std::int64_t count) {
    const std::int64_t total = run.spec.num_hidden_layers;
    return {static_cast<std::size_t>(index * total / count), static_cast<std::size_t>((index + 1) * total / count),
            static_cast<std::size_t>(total)};
}

/// Of a recorded network: modules of other stages are no part of the list.
void keep_leaves(Network& part, const Network& whole, const network::StageLayers& layers) {
    const std::size_t first = whole.leaf_layers[layers.first].first, end = whole.leaf_layers[layers.end - 1].end;
    const std::size_t all = whole.leaf_layers.back().end;
    part.leaves.clear();
    part.leaf_layers.clear();
    for (std::size_t i = 0; i < whole.leaves.size(); ++i) {
        const bool is_kept = i < whole.leaf_layers[0].first ? layers.has_embedding()
                             : i >= all                     ? layers.has_head()
                                                            : i >= first && i < end;
        if (is_kept) part.leaves.push_back(whole.leaves[i]);
    }
    const std::size_t moved = layers.has_embedding() ? 0 : first;
    for (std::size_t i = layers.first; i < layers.end; ++i) {
        const LeafRange& layer = whole.leaf_layers[i];
        part.leaf_layers.push_back({layer.first - moved, layer.end - moved, layer.path});
    }
}

/// The network of one stage. Names stay, tensors of other stages go; the rotary tables are each stage's own.
Network part_of(const Network& whole, const network::StageLayers& layers) {
    Network part = whole;
    part.first_layer = static_cast<std::int32_t>(layers.first);
    if (whole.leaves.empty())
        part.layers.assign(whole.layers.begin() + static_cast<std::ptrdiff_t>(layers.first),
                           whole.layers.begin() + static_cast<std::ptrdiff_t>(layers.end));
    else
        keep_leaves(part, whole, layers);
    if (!layers.has_embedding()) {
        part.embed.weight.reset();
        part.embed.lora.reset();
        part.tied = false;
    }
    part.ends_with_layers = !layers.has_head();
    if (part.ends_with_layers) {
        part.norm.weight.reset();
        part.norm.bias.reset();
        part.head.weight.reset();
        part.head.bias.reset();
        part.head.lora.reset();
    }
    return part;
}

}  // namespace

PeerWork send_and_receive(Session& session, const PeerOps& ops) {
    if (ops.empty()) return {};
    Streams& streams = session.streams;
    for (const Tensor& t : ops) streams.work_on(t, kPeers);
    return streams.now(kPeers);
}

void wait_for(Session& session, const PeerWork& work) {
    if (work) session.streams.wait(session.recorder.stream, *work);
}

PipelineStage::PipelineStage(const Run& run, const Network& whole, std::int64_t index, std::int64_t count)
    : run_(run),
      index_(index),
      count_(count),
      layers_(layers_of(run, index, count)),
      network_(part_of(whole, layers_)) {
    if (run.recorded) {
        recording_ = std::make_shared<const network::Document>(network::stage_of(*run.spec.recording, layers_));
        recorded_ = std::make_shared<RecordedModel>(*recording_);
        recorded_->bind(network_);
        run_.recorded = recorded_.get();
    }
    move_to_device(run, network_);
}

PeerOps PipelineStage::greet_neighbours() {
    Session& session = run_.session;
    const Tensor received = empty(session, {1}, DType::float32, Op::zeros);
    const Tensor sent = to_device(host_tensor(session, {}, DType::float32));
    session.streams.host_waits(session.recorder.stream);
    PeerOps ops;
    if (!is_first()) ops.push_back(received);
    if (!is_last()) ops.push_back(sent);
    if (!is_first()) ops.push_back(sent);
    if (!is_last()) ops.push_back(received);
    return ops;
}

std::vector<Tensor> PipelineStage::make_buffers(std::int64_t micro_batches, bool require_grad) {
    std::vector<Tensor> buffers;
    for (std::int64_t i = 0; i < micro_batches; ++i) {
        buffers.push_back(
            empty(run_.session, {run_.sizes.batch, run_.sizes.length, run_.spec.hidden_size}, run_.plan.load.dtype));
        buffers.back().set_requires_grad(require_grad);
        buffers.back()->is_activation = true;
    }
    return buffers;
}

void PipelineStage::make_activation_buffers(std::int64_t micro_batches) {
    const Scoped<Category> fresh(run_.session.recorder.fresh, Category::stored_activations);
    if (!is_first()) activations_ = make_buffers(micro_batches, true);
}

void PipelineStage::make_gradient_buffers(std::int64_t micro_batches) {
    const Scoped<Category> fresh(run_.session.recorder.fresh, Category::gradients);
    if (!is_last()) gradients_ = make_buffers(micro_batches, false);
}

void PipelineStage::clear() {
    outputs_.clear();
    output_chunks_.clear();
}

Tensor PipelineStage::compute(const Batch& batch, const Place& place) {
    const AutocastScope autocast(run_.session, run_.plan.training.bf16, DType::bfloat16);
    const Tensor hidden = last_hidden_state(run_, network_, batch, {}, place);
    return is_last() ? model::forward(network_.head, hidden) : hidden;
}

Tensor PipelineStage::forward(const Batch& batch, const Place& place, bool keeps_output) {
    Batch given = batch;
    if (!is_first()) given.inputs_embeds = activations_[static_cast<std::size_t>(place.micro)];
    Tensor output = compute(given, place);
    if (is_last() && keeps_output) output_chunks_.push_back(output);
    outputs_[place.micro] = output;
    return output;
}

void PipelineStage::backward(const Tensor& loss, const Place& place) {
    Session& session = run_.session;
    const Tensor output = std::exchange(outputs_[place.micro], {});
    outputs_.erase(place.micro);
    const PhaseKind kind = is_last() ? PhaseKind::backward_loss : PhaseKind::backward_layer;
    session.recorder.begin(
        {kind, place.step, place.micro, is_last() ? -1 : static_cast<std::int32_t>(layers_.end) - 1});
    const auto micro = static_cast<std::size_t>(place.micro);
    if (is_last())
        engine::backward(loss);
    else if (output.requires_grad())
        run_backward({&output, 1}, {&gradients_[micro], 1});
    else
        throw Error(ErrorKind::invalid, "training.gradient_checkpointing_kwargs",
                    "nothing that the first stage gives requires a gradient: with reentrant checkpointing layers are "
                    "not trained where their input does not require one",
                    "set use_reentrant to false");
    if (!is_first()) of_input_[place.micro] = Tensor(std::exchange(activations_[micro]->grad, {}));
    if (is_last() && !output->is_view) output->grad_fn.reset();  // detach_
}

PeerOps PipelineStage::received_activations(std::int64_t micro) const {
    return is_first() ? PeerOps{} : PeerOps{activations_[static_cast<std::size_t>(micro)]};
}

PeerOps PipelineStage::received_gradients(std::int64_t micro) const {
    return is_last() ? PeerOps{} : PeerOps{gradients_[static_cast<std::size_t>(micro)]};
}

PeerOps PipelineStage::sent_activations(std::int64_t micro) const {
    return is_last() ? PeerOps{} : PeerOps{outputs_.at(micro)};
}

PeerOps PipelineStage::sent_gradients(std::int64_t micro) {
    if (is_first()) return {};
    PeerOps ops{std::exchange(of_input_[micro], {})};
    of_input_.erase(micro);
    return ops;
}

}  // namespace vramfit::model
