// The loader of transformers 5.x (core_model_loading.py, modeling_utils.py caching_allocator_warmup).
#include "model/loading/load.hpp"

#include <vector>

#include "engine/ops/copy.hpp"
#include "engine/session.hpp"
#include "model/layers/family.hpp"
#include "model/loading/checkpoint_names.hpp"
#include "model/loading/load_entries.hpp"
#include "model/loading/shard_network.hpp"
#include "model/parallel/tensor/tensor_parallel.hpp"
#include "model/parallel/zero_plan.hpp"

namespace vramfit::model {

using namespace engine;

namespace {

/// get_total_byte_count: up to 5.19, where torch.distributed is initialised, each process leaves out what the others
/// would have under tensor parallelism, whether or not there is any.
std::int64_t half_bytes_of(const Run& run, const Entry& e) {
    const std::int64_t n = numel_of(e.sizes).value();
    const bool in_4bit = e.packed && run.plan.load.quantization->method != QuantMethod::int8;
    const DType dtype = e.has_own_dtype ? e.dtype : run.plan.load.dtype;  // those kept in float32 are cast later
    const std::int64_t half_bytes = in_4bit ? n : 2 * (e.packed ? n : size_of(n, dtype).count);
    const auto& processes = run.plan.distributed;
    if (!e.in_split_plan || !processes || processes->load_first || !run.stack.warm_up_leaves_out_plans())
        return half_bytes;
    return 2 * (half_bytes / (2 * processes->world_size));
}

/// caching_allocator_warmup: one block for everything, in units of float16; less on a card that is hardly larger.
void warm_up(const Run& run, const std::vector<Entry>& all) {
    std::int64_t half_bytes = 0;
    for (const Entry& e : all) half_bytes += half_bytes_of(run, e);
    std::int64_t total = half_bytes / 2;
    const Device& device = run.session.device;
    const std::int64_t most = device.total.count - 1288490189;  // 1.2 GiB
    if (run.session.loads_again) return run.session.recorder.warm_up({total, device.capacity_known ? most : total});
    const std::int64_t unused = left_before_load(run);
    total = total > 2 * unused ? total - unused : 0;
    if (device.capacity_known && run.session.decide("warm-up is cut", most < total)) total = most;
    const Tensor block = empty(run.session, {total / 2}, DType::float16, Op::loader);
    label(block, Category::temporaries);  // holds nothing
}

}  // namespace

// Since 5.0 each set of frequencies has its original beside it.
int rotary_buffers(const Run& run) {
    if (run.spec.recording) return 0;  // its buffers are in the recording
    const Family& family = family_of(run.spec.model_type);
    if (!family.rotate) return 0;
    if (run.unsloth) return run.spec.model_type == "gemma" ? 0 : 1;  // its own module's
    const LayerKinds kinds = layer_kinds(run.spec);
    const int sets = family.rotary_by_type && kinds.full && kinds.sliding ? 2 : 1;
    return run.stack.loader_converts_tensors() ? 2 * sets : sets;
}

bool embedding_scales_itself(const Run& run) {
    if (run.spec.recording) return false;  // its scale is a buffer in the recording
    const Family& family = family_of(run.spec.model_type);
    return family.scales_embedding && (family.embedding_scales_itself || run.stack.gemma_embeddings_scale_themselves());
}

// modeling_utils.py get_init_context: no zero.Init for what is quantized.
bool is_partitioned(const TrainPlan& plan) {
    return is_zero3(plan) && !plan.distributed->load_first && !plan.load.quantization;
}

bool asks_for_bf16(const Run& run) {
    const TrainPlan& plan = run.plan;
    // LLaMA-Factory 0.9.5 extras/misc.py: is_torch_bf16_gpu_available() while it is imported.
    if (by_llama_factory(plan)) return run.session.device.capability < Capability{8, 0};
    return plan.distributed && !plan.distributed->as<PipelinePlan>() && plan.training.bf16 &&
           run.session.device.capability < Capability{8, 0};
}

bool asks_for_bf16_late(const Run& run) { return run.plan.distributed && run.plan.distributed->load_first; }

std::int64_t left_before_load(const Run& run) {
    constexpr std::int64_t kSmallBuffer = 2 << 20;  // c10/cuda/CUDACachingAllocator.cpp
    // Unsloth's import has taken a segment, in which two placeholders of its rotary module are.
    if (run.unsloth) return kSmallBuffer - 2 * 512;
    return asks_for_bf16(run) && !asks_for_bf16_late(run) ? kSmallBuffer : 0;
}

// bitsandbytes has to have a device map.
bool waits_on_host(const Run& run) {
    const TrainPlan& plan = run.plan;
    // unsloth 2026.10.7, models/loader_utils.py prepare_device_map: each process loads on its GPU.
    if (plan.loop.kind == LoopKind::unsloth) return false;
    if (!plan.distributed) return plan.load.moved_by_trainer;
    return !plan.distributed->load_on_device && (!plan.load.quantization || takes_packed_back(run)) &&
           !is_partitioned(plan) && !is_tensor_parallel(plan);
}

// modeling_utils.py is_fsdp_enabled.
bool takes_packed_back(const Run& run) {
    const auto& processes = run.plan.distributed;
    const Fsdp1Plan* fsdp = processes ? processes->as<Fsdp1Plan>() : nullptr;
    return fsdp && fsdp->cpu_ram_efficient_loading && run.plan.load.quantization &&
           run.stack.loader_takes_packed_back();
}

bool is_sharded(const TrainPlan& plan) {
    return plan.distributed && (plan.distributed->as<Fsdp1Plan>() || plan.distributed->as<Fsdp2Plan>());
}

Network load(const Run& run) {
    const Scoped<Category> fresh(run.session.recorder.fresh, Category::weights);
    if (is_partitioned(run.plan)) return load_partitioned(run);
    if (takes_packed_back(run)) return load_packed_on_host(run);
    if (waits_on_host(run)) return load_on_host(run);
    // transformers 5.17 distributed/utils.py initialize_tensor_parallelism: device_map is what the mesh says.
    const bool on_device = run.plan.load.on_device || is_tensor_parallel(run.plan);
    if (!on_device && !run.plan.load.quantization) {
        Network network = load_on_host(run);
        move_to_device(run, network);
        return network;
    }
    return run.stack.loader_converts_tensors() ? load_sorted(run) : load_by_module(run);
}

namespace {

/// modeling_utils.py _move_missing_keys_from_meta_to_device: buffers that no checkpoint holds; what is put into them is
/// computed in host memory.
void make_recorded_buffers(const Run& run, Network& network) {
    const std::vector<network::Buffer> buffers = network::buffers_in(*run.spec.recording);
    for (std::size_t i = 0; i < buffers.size(); ++i) {
        if (!buffers[i].what->persistent) network.buffers[i] = recorded_buffer(run, buffers[i], Op::loader);
    }
}

/// modeling_utils.py _initialize_missing_keys: values that a class computes for a parameter before it sees that it is
/// loaded.
void make_initial_values(const Run& run) {
    for (const network::Buffer& value : network::made_values(*run.spec.recording)) {
        Dims sizes;
        for (const std::int64_t size : network::sizes_of(*value.what)) sizes.push(size);
        const network::DTypeName& initial = *value.what->initial;
        const DType dtype = initial.of == network::DTypeName::Of::weights ? run.plan.load.dtype : initial.dtype;
        std::vector<Tensor> initials;
        for (int i = 0; i < value.what->initials; ++i) initials.push_back(empty(run.session, sizes, dtype, Op::loader));
        initials.clear();
        // 5.17.0 modeling_olmo_hybrid.py OlmoHybridPreTrainedModel._init_weights: dt, torch.expm1(-dt) and its
        // negative.
        std::vector<Tensor> at_once;
        for (int i = 0; i < 3 && run.spec.recording->model_type == "olmo_hybrid"; ++i)
            at_once.push_back(empty(run.session, sizes, run.plan.load.dtype, Op::loader));
    }
}

/// modeling_utils.py _adjust_bias, whenever a parameter of the head is tied: its bias, filled up to the rows of its
/// weight, is a copy. Before the bias is tied the head has one that was not loaded.
void copy_bias_of_tied_head(const network::Document& document, Network& network) {
    if (!network.tied || !network.head.bias.defined()) return;
    for (int i = 0; i < (document.ties_bias_first ? 2 : 1); ++i) set_data(network.head.bias, clone(network.head.bias));
}

}  // namespace

Network load_sorted(const Run& run) {
    Network network = make_network(run.spec);
    if (is_tensor_parallel(run.plan)) cut_network(run, network);
    std::vector<Entry> all = checkpoint_entries(run, network);
    if (run.spec.recording) name_as_published(*run.spec.recording, all);
    Session& session = run.session;
    warm_up(run, all);
    load_converted(run, all);
    tie_head(network);
    if (run.spec.recording) {
        make_recorded_buffers(run, network);
        make_initial_values(run);
        copy_bias_of_tied_head(*run.spec.recording, network);
        network.embed.weight->is_piece = network.embed.pieces > 1;
        return network;
    }
    network.embed.weight->is_piece = network.embed.pieces > 1;
    if (embedding_scales_itself(run))
        network.embed.scale = empty(session, {}, run.plan.load.dtype, Op::loader);  // torch.tensor in the default dtype
    for (int i = 0; i < rotary_buffers(run); ++i)
        network.buffers.push_back(empty(session, {(run.spec.rotary_dim() + 1) / 2}, DType::float32, Op::loader));
    return network;
}

}  // namespace vramfit::model
