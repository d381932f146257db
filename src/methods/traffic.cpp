// What the processes of a method send, counted from their collectives.
#include "methods/traffic.hpp"

#include <algorithm>
#include <vector>

#include "vramfit/spec/modules.hpp"

namespace vramfit {

namespace {

/// What the collectives of one optimizer step work on.
struct Amounts {
    std::int64_t world = 1;
    std::int64_t batches = 1;        ///< of one process in one optimizer step
    std::int64_t trained = 0;        ///< elements
    std::int64_t all = 0;            ///< elements
    std::int64_t gradients = 0;      ///< bytes, of the dtype that weights are trained in
    std::int64_t weights = 0;        ///< bytes of all that is gathered: packed ones are half a byte each
    std::int64_t zero3_weights = 0;  ///< the same of ZeRO-3, which gathers in other dtypes
    std::int64_t width = 2;          ///< bytes of an element that is computed with
    std::int64_t zero_width = 2;     ///< the same as DeepSpeed reduces it, and gathers it for ZeRO-3
    // Of FSDP, which keeps weights in other dtypes than it gathers.
    std::int64_t kept = 0;        ///< bytes of all
    std::int64_t kept_width = 4;  ///< bytes of a trained element
    Collectives activations;      ///< of tensor parallelism, which sends those
    // Of pipelines and context parallelism.
    std::int64_t tokens = 0;  ///< of a batch
    std::int64_t hidden = 0;
    std::int64_t keys_forward = 0;   ///< elements of keys and values of one process's part, of each pass that has them
    std::int64_t keys_backward = 0;  ///< the same of the backward
    std::int64_t stored_width = 2;   ///< bytes of an element of what norms give and the table holds
};

/// Bytes that one of `world` processes sends while `bytes` go once around the ring.
std::int64_t once_around(const Amounts& of, std::int64_t bytes) { return bytes / of.world * (of.world - 1); }

// torch 2.11, torch/csrc/distributed/c10d/reducer.cpp: each bucket is all-reduced, after the last batch of a step
// (accelerate's no_sync).
Traffic traffic(const DdpPlan&, const Amounts& of) { return {.all_reduce = 2 * once_around(of, of.gradients)}; }

// deepspeed 0.19.8, runtime/zero/stage_1_and_2.py: average_tensor all-reduces whole buckets
// (use_multi_rank_bucket_allreduce), with stage 2 after each batch; step gathers what each process updated
// (all_gather_dp_groups). stage3.py: weights are gathered for forward and backward, gradients reduce-scattered. Without
// mixed precision gradients, and ZeRO-3's weights, are float32; what stages 1 and 2 train keeps its dtype.
Traffic traffic(const ZeroPlan& plan, const Amounts& of) {
    const std::int64_t trained = of.trained * of.zero_width;
    const std::int64_t share = trained / of.world;
    Traffic out;
    if (plan.stage == 3) {
        out.all_gather = of.batches * 2 * once_around(of, of.zero3_weights);
        out.reduce_scatter = of.batches * once_around(of, trained);
    } else {
        const std::int64_t reductions = plan.stage == 2 ? of.batches : 1;
        out.all_reduce = reductions * 2 * once_around(of, trained);
        out.all_gather = once_around(of, of.zero_width == of.width ? trained : of.gradients);
    }
    if (plan.offload_optimizer) out.with_host = of.batches * share + share;  // gradients there, weights back
    if (plan.offload_param) out.with_host += of.batches * 2 * (of.zero3_weights / of.world);
    return out;
}

// torch 2.11, distributed/fsdp/_runtime_utils.py: each unit is gathered for forward, and with FULL_SHARD once more for
// backward.
Traffic traffic(const Fsdp1Plan& plan, const Amounts& of) {
    const std::int64_t gathers = plan.sharding_strategy == FsdpStrategy::full_shard ? 2 : 1;
    Traffic out{.all_gather = of.batches * gathers * once_around(of, of.weights),
                .reduce_scatter = once_around(of, of.trained * of.width)};
    if (plan.cpu_offload) out.with_host = of.batches * 2 * (of.kept / of.world) + of.trained * of.kept_width / of.world;
    return out;
}

// torch 2.11, distributed/fsdp/_fully_shard: all_gather_into_tensor for forward, once more for backward where
// forward's weights were resharded; reduce_scatter_tensor after the last batch (accelerate's no_sync).
Traffic traffic(const Fsdp2Plan& plan, const Amounts& of) {
    const std::int64_t gathers = plan.reshard_after_forward ? 2 : 1;
    Traffic out{.all_gather = of.batches * gathers * once_around(of, of.weights),
                .reduce_scatter = once_around(of, of.trained * of.width)};
    if (plan.cpu_offload)  // shards as they are kept, there for each gather; gradients in their dtype back
        out.with_host = of.batches * gathers * (of.kept / of.world) + of.trained * of.kept_width / of.world;
    if (plan.context.size == 1) return out;
    // torch 2.11, _context_parallel/_attention.py: keys and values pass all others in the forward and once more in the
    // backward; their gradients, in float32, go the whole way round, back to where they belong.
    std::int64_t& keys = plan.context.gathers ? out.all_gather : out.send;
    keys += of.batches * (plan.context.size - 1) * (of.keys_forward + of.keys_backward) * of.width;
    out.send += of.batches * plan.context.size * of.keys_backward * 4;
    return out;
}

// transformers 5.17, distributed/tensor_parallel.py: counted while the step was recorded.
Traffic traffic(const TpPlan&, const Amounts& of) {
    return {.all_reduce = 2 * once_around(of, of.activations.all_reduced),
            .all_gather = once_around(of, of.activations.all_gathered)};
}

// torch 2.11, distributed/pipelining/stage.py get_fwd_send_ops and get_bwd_send_ops: what layers give goes to the next
// stage, its gradient to the one before; stages between two others send both.
Traffic traffic(const PipelinePlan& plan, const Amounts& of) {
    const std::int64_t sends = 2 * plan.virtual_stages - (of.world > 2 ? 0 : 1);
    return {.send = plan.micro_batches * sends * of.tokens * of.hidden * of.stored_width};
}

/// Layers whose attention has a backward: not those before the first adapter.
std::int64_t attention_backwards(const Prediction& p) {
    const std::int64_t layers = p.model.num_hidden_layers;
    if (!p.plan.peft || p.plan.checkpoints()) return layers;
    std::int64_t first = layers;
    for (const LoraTarget& target : lora_targets(p.model, *p.plan.peft)) {
        const ModulePart part = target.module.part;
        const bool before = part == ModulePart::query || part == ModulePart::key || part == ModulePart::value;
        first = std::min<std::int64_t>(first, target.module.layer + (before ? 0 : 1));
    }
    return layers - first;
}

/// Keys and values of all layers, of the tokens that one process has.
void count_keys(const Prediction& p, Amounts& of) {
    const std::int64_t context = p.plan.distributed->context_size();
    if (context == 1) return;
    const std::int64_t elements = 2 * (of.tokens / context) * p.model.num_key_value_heads * p.model.head_dim;
    of.keys_forward = elements * p.model.num_hidden_layers * (p.plan.checkpoints() ? 2 : 1);
    of.keys_backward = elements * attention_backwards(p);
}

/// The bytes of trained weights, and so of their gradients: adapters may be wider than the network's weights.
std::int64_t trained_bytes(const Prediction& p) {
    if (!p.plan.peft) return p.trainable_parameters * element_size(p.plan.load.dtype);
    const auto step = std::find_if(p.peaks.begin(), p.peaks.end(),
                                   [](const PeakResult& peak) { return peak.name == "optimizer_step"; });
    return step == p.peaks.end() ? 0 : step->shares[static_cast<std::size_t>(Category::adapters)];
}

/// Elements that are quantized: linear layers but for the head (transformers' default).
std::int64_t packed_elements(const Prediction& p) {
    const auto& quantization = p.plan.load.quantization;
    if (!quantization || quantization->skip_modules_given) return 0;
    std::int64_t packed = 0;
    for (const NamedModule& module : modules_of(p.model))
        if (module.layer >= 0 && (module.kind == ModuleKind::linear || module.kind == ModuleKind::conv1d))
            packed += module.in * module.out;
    return packed;
}

std::int64_t packed_bytes(const Prediction& p) {
    const std::int64_t packed = packed_elements(p);
    return packed > 0 && p.plan.load.quantization->method != QuantMethod::int8 ? packed / 2 : packed;
}

/// The bytes of them that FSDP cuts. accelerate 1.15 fsdp2_prepare_model: none of those that are stored as integers.
std::int64_t cut_bytes(const Prediction& p) {
    return p.plan.load.quantization && is_floating(p.plan.load.quantization->storage) ? packed_bytes(p) : 0;
}

/// Weights of all processes as ZeRO-3 keeps and gathers them. What is quantized keeps its dtype.
std::int64_t zero3_bytes(const Prediction& p) {
    const std::int64_t width = p.plan.training.bf16 || p.plan.training.fp16 ? 2 : 4;
    return (p.total_parameters - packed_elements(p)) * width + packed_bytes(p);
}

/// accelerate 1.15: with mixed precision FSDP keeps what is trained in float32.
std::int64_t kept_width(const Prediction& p) { return p.plan.training.bf16 ? 4 : element_size(p.plan.load.dtype); }

/// Weights of all processes as FSDP keeps them.
std::int64_t kept_bytes(const Prediction& p) {
    const std::int64_t packed = packed_elements(p);
    const std::int64_t frozen = p.total_parameters - p.trainable_parameters - packed;
    return p.trainable_parameters * kept_width(p) + frozen * element_size(p.plan.load.dtype) + cut_bytes(p);
}

}  // namespace

Traffic traffic_of(const Prediction& p) {
    if (!p.plan.distributed) return {};
    const bool halves = p.plan.training.bf16 || p.plan.training.fp16;
    Amounts of;
    of.world = p.plan.distributed->world_size;
    of.batches = p.plan.training.gradient_accumulation_steps;
    of.trained = p.trainable_parameters;
    of.all = p.total_parameters;
    of.gradients = trained_bytes(p);
    of.width = halves ? 2 : element_size(p.plan.load.dtype);
    of.zero_width = halves ? 2 : 4;
    of.weights = (of.all - packed_elements(p)) * of.width + cut_bytes(p);
    of.zero3_weights = zero3_bytes(p);
    const TrainPlan& plan = p.plan;
    of.tokens = plan.training.per_device_train_batch_size * plan.batch.sequence_length;
    of.hidden = p.model.hidden_size;
    of.stored_width = element_size(plan.load.dtype);
    of.kept = kept_bytes(p);
    of.kept_width = kept_width(p);
    of.activations = p.collectives;
    count_keys(p, of);
    return std::visit([&](const auto& method) { return traffic(method, of); }, plan.distributed->method);
}

// deepspeed 0.19.8: the float32 weights, their two moments (DeepSpeedCPUAdam) and the gradients that it steps with;
// with offloaded parameters the weights too. FSDP: weights as they are kept, and of what is trained gradients
// and two moments in the same dtype.
std::int64_t host_bytes_of(const Prediction& p) {
    if (!p.plan.distributed) return 0;
    if (p.plan.distributed->shards_on_host()) return kept_bytes(p) + 3 * kept_width(p) * p.trainable_parameters;
    const ZeroPlan* zero = p.plan.distributed->as<ZeroPlan>();
    if (!zero) return 0;
    constexpr std::int64_t kStates = 4 + 4 + 4 + 4;
    std::int64_t bytes = zero->offload_optimizer ? kStates * p.trainable_parameters : 0;
    return zero->offload_param ? bytes + zero3_bytes(p) : bytes;
}

}  // namespace vramfit
