// trl 1.16 generation/vllm_generation.py VLLMGeneration.sync_weights, _iter_named_params; generation/vllm_client.py
// VLLMClient. peft 0.21 tuners_utils.py merge_adapter, unmerge_adapter. vllm 0.31 distributed/weight_transfer/
// packed_tensor.py packed_nccl_broadcast_producer, distributed/device_communicators/pynccl.py PyNcclCommunicator.
#include "model/preferences/grpo/weight_sync.hpp"

#include <array>
#include <string>
#include <type_traits>

#include "engine/ops/copy.hpp"
#include "engine/ops/matmul.hpp"
#include "engine/ops/pointwise.hpp"
#include "engine/streams.hpp"
#include "model/parallel/collectives.hpp"

namespace vramfit::model {

using namespace engine;

namespace {

constexpr std::uint8_t kFirstBuffer = 3;               // the streams of the buffers; ZeRO's gradients have 1, NCCL 5
constexpr std::size_t kBuffers = 2;                    // DEFAULT_PACKED_NUM_BUFFERS
constexpr std::int64_t kFull = std::int64_t{1} << 30;  // DEFAULT_PACKED_BUFFER_SIZE_BYTES

/// peft.tuners.lora Linear.get_delta_weight.
Tensor delta_weight(const Linear& layer) {
    const Tensor product = mm(layer.lora->b, layer.lora->a);
    return mul(product, 1.0);
}

/// LoraLayer.merge, which adds in place.
void merge(const Linear& layer) { (void)delta_weight(layer); }

/// LoraLayer.unmerge, which takes it away again in the weight's own dtype.
void unmerge(const Linear& layer) {
    const Tensor delta = delta_weight(layer);
    const Tensor cast = to(delta, layer.weight.dtype());
}

/// BaseTuner.merge_adapter or unmerge_adapter, module by module.
void of_each_adapter(Network& network, void (*act)(const Linear&)) {
    for_each_module(network, [&](auto& module) {
        if constexpr (std::is_same_v<std::remove_cvref_t<decltype(module)>, Linear>)
            if (module.lora) act(module);
    });
}

/// The bytes of what vLLM has: _iter_named_params leaves out what is peft's own.
std::vector<Size> weights_in_bytes(Network& network) {
    std::vector<Size> out;
    for (const NamedParameter& p : named_parameters(network))
        if (p.name().find("lora_") == std::string::npos)
            out.push_back(p.tensor->numel() * size_of(1, p.tensor->dtype()).count);
    return out;
}

/// pack_tensors: weights are taken until there are more than a buffer holds; the adapters are merged when the first
/// one is asked for, and unmerged when there is none left.
class WeightPacker {
  public:
    explicit WeightPacker(Network& network) : network_(network), weights_(weights_in_bytes(network)) {}

    /// The next buffer, or nothing.
    Tensor pack(Session& session) {
        if (next_ == 0) of_each_adapter(network_, merge);
        Size taken = 0;
        while (session.decide("a buffer of weights has room", taken <= kFull)) {
            if (next_ == weights_.size()) {
                end();
                break;
            }
            taken = taken + weights_[next_++];
        }
        if (same(taken, 0)) return {};
        return empty(session, {taken}, DType::uint8, Op::cat);
    }

  private:
    void end() {
        if (!ended_) of_each_adapter(network_, unmerge);
        ended_ = true;
    }

    Network& network_;
    std::vector<Size> weights_;
    std::size_t next_ = 0;
    bool ended_ = false;
};

/// packed_nccl_broadcast_producer: a buffer is under way while the other one is packed, each on a stream of its own.
void send_packed(Session& session, Network& network) {
    WeightPacker weights(network);
    std::array<Tensor, kBuffers> under_way;
    for (std::size_t turn = 0;; turn = (turn + 1) % kBuffers) {
        const auto stream = static_cast<std::uint8_t>(kFirstBuffer + turn);
        session.streams.host_waits(stream);
        under_way[turn].reset();
        const OnStream own(session.recorder, stream);
        under_way[turn] = weights.pack(session);
        if (!under_way[turn].defined()) break;
        session.streams.launch(stream);
    }
    for (std::size_t turn = 0; turn < kBuffers; ++turn)
        session.streams.host_waits(static_cast<std::uint8_t>(kFirstBuffer + turn));
}

}  // namespace

void open_weight_sync(const Run& run, Network& network) {
    if (!run.plan.preference.grpo.generates_by_vllm()) return;
    if (run.plan.preference.grpo.vllm_on_server) {
        const Tensor number = zeros(run.session, {1}, DType::float32);
        const Tensor sum = empty(run.session, {1}, DType::float32, Op::empty);
        run.session.streams.host_waits(0);
    }
    if (run.plan.distributed) barrier(run.session, network.held_by_group);
}

void sync_weights(const Run& run, Network& network, bool first) {
    const bool packs = run.plan.preference.grpo.vllm_on_server && run.stack.vllm_client_packs_weights();
    if (!packs || first) {  // to a server a first pass tells names and sizes
        of_each_adapter(network, merge);
        of_each_adapter(network, unmerge);
    }
    if (packs) send_packed(run.session, network);
}

}  // namespace vramfit::model
