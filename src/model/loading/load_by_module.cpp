// The loader of transformers 4.x (modeling_utils.py _load_state_dict_into_meta_model) and accelerate's dispatch_model.
#include <algorithm>
#include <utility>

#include "engine/session.hpp"
#include "model/layers/family.hpp"
#include "model/loading/load.hpp"
#include "model/loading/load_entries.hpp"
#include "vramfit/base/error.hpp"

namespace vramfit::model {

using namespace engine;

namespace {

/// module.state_dict(): each doubly quantized layer copies its code table while the dictionary lives
/// (bitsandbytes functional.py QuantState.as_dict).
void state_dict(Session& session, const std::vector<const Linear*>& module) {
    std::vector<Tensor> copies;
    for (const Linear* l : module)
        if (l->quantized && l->quantized->nested_code.defined())
            copies.push_back(empty(session, l->quantized->nested_code.sizes(), DType::float32, Op::clone));
}

void state_dicts_of_leaves(Session& session, const std::vector<const Linear*>& module) {
    state_dict(session, module);
    for (const Linear* l : module) {
        state_dict(session, {l});
        session.recorder.empty_cache();
    }
}

/// accelerate 0.29.3 hooks.py attach_execution_device_hook: every module below the root is asked whether it is empty;
/// the tensors of one that is not go through set_module_tensor_to_device, which empties the cache.
void attach_hooks(Session& session, Network& network) {
    std::vector<const Linear*> decoder;
    for (const Linear* linear : linears(network))
        if (linear != &network.head) decoder.push_back(linear);
    state_dict(session, decoder);    // model
    session.recorder.empty_cache();  // its embedding
    state_dict(session, decoder);    // model.layers
    for (DecoderLayer& l : network.layers) {
        std::vector<const Linear*> attention, mlp;
        for (const Linear* linear : linears(l)) {
            const bool in_mlp = linear == &l.gate || linear == &l.up || linear == &l.gate_up || linear == &l.down;
            (in_mlp ? mlp : attention).push_back(linear);
        }
        std::vector<const Linear*> both = attention;
        both.insert(both.end(), mlp.begin(), mlp.end());
        state_dict(session, both);
        state_dicts_of_leaves(session, attention);
        state_dicts_of_leaves(session, mlp);
    }
    state_dict(session, {&network.head});
    session.recorder.empty_cache();
}

/// The buffers of rotary embeddings, the layers' before the decoder's. The hook of a quantized model's root moves
/// tensor by tensor with set_module_tensor_to_device, which empties the cache each time.
void move_buffers(const Run& run, Network& network, bool by_hook) {
    const auto moved = [&] {
        if (by_hook) run.session.recorder.empty_cache();
    };
    moved();  // the parameters, which are in place
    const RotaryModules rotary = family_of(run.spec.model_type).rotary_modules(run.stack);
    const std::int64_t width = run.spec.head_dim;
    const auto move_frequencies = [&](std::vector<Tensor>& place) {
        place.push_back(empty(run.session, {run.spec.rotary_dim() / 2}, DType::float32, Op::to_copy));
        moved();
    };
    for (std::size_t i = 0; i < network.layers.size(); ++i) {
        if (rotary.layers && !rotary.late) move_frequencies(network.layer_buffers);
        for (int table = 0; rotary.caches && table < 2; ++table) {
            network.rotary_caches.push_back(
                empty(run.session, {run.spec.max_position_embeddings, width}, run.plan.load.dtype, Op::to_copy));
            moved();
        }
    }
    if (rotary.decoder) move_frequencies(network.buffers);
}

/// dispatch_model: check_device_map lists the state dict; then the root's hook moves what is still in host memory.
void dispatch(const Run& run, Network& network) {
    const bool hooks = run.plan.load.quantization && run.stack.dispatch_hooks_quantized_models();
    std::vector<const Linear*> all;
    for (const Linear* l : linears(network)) all.push_back(l);
    state_dict(run.session, all);
    move_buffers(run, network, hooks);
    if (hooks) attach_hooks(run.session, network);
}

constexpr std::int64_t kFileBytes = 5'000'000'000;  // of files that are not published ones

/// Files of at most `shard_size` bytes, filled in the order of modules; the tensors of a published file stand in order
/// of name, and some releases read every file in that order.
std::vector<Entry> by_file(std::vector<Entry> entries, const Run& run) {
    const LoadPlan& plan = run.plan.load;
    if (!plan.shard_size && !run.stack.loader_sorts_files()) return entries;
    const std::int64_t most = plan.shard_size ? plan.shard_size->count : kFileBytes;
    const auto sort_file = [&](std::size_t first, std::size_t last) {
        std::sort(entries.begin() + static_cast<std::ptrdiff_t>(first),
                  entries.begin() + static_cast<std::ptrdiff_t>(last),
                  [](const Entry& a, const Entry& b) { return a.name < b.name; });
    };
    std::size_t first = 0;
    std::int64_t filled = 0;
    for (std::size_t i = 0; i < entries.size(); ++i) {
        const std::int64_t bytes = (numel_of(entries[i].sizes) * element_size(plan.dtype)).value();
        if (filled > 0 && filled + bytes > most) {
            sort_file(first, i);
            first = i;
            filled = 0;
        }
        filled += bytes;
    }
    sort_file(first, entries.size());
    return entries;
}

/// modeling_utils.py caching_allocator_warmup: all weights, or half of them where they are quantized, as they are in
/// the checkpoint; a tied head counts. Where torch.distributed is initialised, each process leaves out what the others
/// would have under tensor parallelism.
void warm_up(const Run& run, const Network& network, const std::vector<Entry>& all) {
    std::int64_t total = 0;
    const auto& processes = run.plan.distributed;
    for (const Entry& e : all) {
        const std::int64_t bytes = (numel_of(e.sizes) * element_size(e.dtype)).value();
        total += processes && e.in_split_plan ? bytes / processes->world_size : bytes;
    }
    if (network.tied) total += (Size(network.head.in) * network.head.out * element_size(run.plan.load.dtype)).value();
    const Device& device = run.session.device;
    const std::int64_t most =
        run.stack.warm_up_leaves_room() ? device.usable.count - 1288490188 : device.usable.count / 20 * 19;
    if (device.capacity_known && run.session.decide("warm-up is cut", most < total)) total = most;
    if (run.stack.warm_up_leaves_room()) total = std::max<std::int64_t>(0, total - left_before_load(run));
    const std::int64_t halves = total / (run.plan.load.quantization ? 4 : 2);
    const Tensor block = empty(run.session, {halves}, DType::float16, Op::loader);
    label(block, Category::temporaries);  // holds nothing
}

bool warms_up(const Run& run) { return run.stack.loader_warms_up(run.plan.load.quantization.has_value()); }

}  // namespace

Network load_by_module(const Run& run) {
    Network network = make_network(run.spec);
    std::vector<Entry> all = checkpoint_entries(run, network);
    if (warms_up(run)) warm_up(run, network, all);
    const bool twice = run.plan.load.quantization && run.stack.loader_places_before_quantizing();
    Tensor param;
    for (const Entry& e : by_file(std::move(all), run)) {
        if (twice) param = empty(run.session, e.sizes, e.dtype, Op::to_copy);
        if (twice && !e.packed)
            place_entry(run, e, param);
        else
            load_entry(run, e);
        if (!e.packed && !e.of_packed && run.stack.loader_empties_cache()) run.session.recorder.empty_cache();
    }
    tie_head(network);
    dispatch(run, network);
    return network;
}

// transformers 4.44, 4.48 and 4.53 modeling_utils.py _load_state_dict_into_meta_model; FSDP dispatches nothing.
Network load_packed_on_host(const Run& run) {
    Session& session = run.session;
    Network network = make_network(run.spec);
    std::vector<Entry> all = checkpoint_entries(run, network);
    if (warms_up(run)) warm_up(run, network, all);
    Tensor param;
    for (const Entry& e : by_file(std::move(all), run)) {
        if (run.stack.loader_places_before_quantizing()) param = empty(session, e.sizes, e.dtype, Op::to_copy);
        if (!e.packed && run.stack.loader_keeps_all_on_host()) {
            *e.place = host_tensor(session, e.sizes, e.dtype);
            continue;
        }
        load_entry(run, e);
        if (!e.packed) continue;
        Tensor& packed = e.packed->quantized->packed;
        set_data(packed, host_tensor(session, packed.sizes(), packed.dtype()));
    }
    tie_head(network);
    return network;
}

}  // namespace vramfit::model
