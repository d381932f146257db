// accelerate 1.15 utils/fsdp_utils.py, torch 2.11 distributed/fsdp/_fully_shard/_fsdp_init.py.
#include "model/parallel/fsdp2/parameters.hpp"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "engine/ops/copy.hpp"
#include "engine/session.hpp"
#include "vramfit/base/error.hpp"

namespace vramfit::model {

using namespace engine;

void upcast(Network& network) {
    for (const NamedParameter& p : trainable_parameters(network)) {
        if (p.tensor->dtype() == DType::float32) continue;
        const Tensor wide = host_tensor(p.tensor->session(), p.tensor->sizes(), DType::float32);
        set_data(*p.tensor, wide);
    }
}

namespace {

/// The parameters of several modules as one list, in which a shared one stands once.
class PlaceList {
  public:
    void add(Tensor& t) {
        if (!t.defined()) return;
        for (ParameterPlaces& known : all_)
            if (*known[0] == t) return known.push_back(&t);
        all_.push_back({&t});
    }
    void add(std::optional<OriginalModule>& original) {
        if (!original) return;
        add(original->weight);
        add(original->bias);
    }
    void add(Norm& module) {
        add(module.original);
        add(module.weight);
        add(module.bias);
    }
    void add(Linear& module) {
        add(module.original);
        if (module.quantized && is_floating(module.quantized->packed.dtype())) add(module.quantized->packed);
        add(module.weight);
        add(module.bias);
        if (!module.lora) return;
        for (Tensor* t : {&module.lora->a, &module.lora->b, &module.lora->bias, &module.lora->magnitude}) add(*t);
    }
    void add(Embedding& module) {
        add(module.original);
        add(module.weight);
        if (!module.lora) return;
        for (Tensor* t : {&module.lora->a, &module.lora->b, &module.lora->magnitude}) add(*t);
    }
    void add(BareModule& module) {
        for (Tensor& t : module.tensors) add(t);
        for (auto& lora : module.lora)
            if (lora)
                for (Tensor* t : {&lora->a, &lora->b}) add(*t);
    }
    std::vector<ParameterPlaces> take() { return std::move(all_); }

  private:
    std::vector<ParameterPlaces> all_;
};

template <class Module>
std::vector<ParameterPlaces> places_of(Module& module) {
    PlaceList places;
    places.add(module);
    return places.take();
}

}  // namespace

std::vector<ParameterPlaces> parameters_of_layer(Network& network, std::size_t layer) {
    PlaceList places;
    for_each_module_of_layer(network, layer, [&](auto& module) { places.add(module); });
    return places.take();
}
std::vector<ParameterPlaces> parameters_of(Embedding& table) { return places_of(table); }
std::vector<ParameterPlaces> parameters_of(Linear& layer) { return places_of(layer); }

std::vector<Linear*> adapted_linears(Network& network, std::size_t layer) {
    std::vector<Linear*> out;
    for_each_module_of_layer(network, layer,
                             Overloaded{[](auto&) {},
                                        [&out](Linear& module) {
                                            if (module.lora) out.push_back(&module);
                                        }});
    return out;
}

std::vector<ParameterPlaces> parameters_around_adapters(Network& network, std::size_t layer) {
    std::vector<ParameterPlaces> out = parameters_of_layer(network, layer);
    for (const Linear* linear : adapted_linears(network, layer))
        out.erase(std::remove_if(out.begin(), out.end(),
                                 [linear](const ParameterPlaces& places) {
                                     return places[0] == &linear->lora->a || places[0] == &linear->lora->b;
                                 }),
                  out.end());
    return out;
}

std::vector<ParameterPlaces> all_parameters(Network& network) {
    PlaceList places;
    for_each_module(network, [&](auto& module) { places.add(module); });
    return places.take();
}

std::vector<ParameterPlaces> outer_parameters(Network& network) {
    PlaceList places;
    for_each_module_around_layers(network, [&](auto& module) { places.add(module); });
    return places.take();
}

std::vector<ParameterPlaces> root_parameters(Network& network, const Norm* norm, bool in_layers) {
    PlaceList places;
    const void* const others[] = {&network.embed, norm, &network.head};
    const auto add = [&](auto& module) {
        const void* const place = &module;
        if (std::find(std::begin(others), std::end(others), place) == std::end(others)) places.add(module);
    };
    if (in_layers)
        for_each_module(network, add);
    else
        for_each_module_around_layers(network, add);
    return places.take();
}

bool shares_weight(const Network& network) { return network.embed.weight == network.head.weight; }

std::vector<ParameterPlaces> tail_parameters(Network& network, Norm* norm) {
    PlaceList places;
    if (norm) places.add(*norm);
    if (shares_weight(network)) places.add(network.embed);
    places.add(network.head);
    return places.take();
}

Tensor move_to_device(Network& network, const ParameterPlaces& places) {
    const Tensor host = *places[0];
    if (!is_on_host(host)) return host;  // another group has moved what it shares
    Tensor on_device = to_device(host);
    on_device.set_requires_grad(host.requires_grad());
    for (Tensor* place : places) *place = on_device;
    std::optional<OriginalModule>& original = network.head.original;
    for (Tensor* head : {&network.head.weight, original ? &original->weight : nullptr})
        if (head && *head == host) *head = on_device;
    return on_device;
}

namespace {

/// transformers 5.17 modeling_utils.py tie_weights, which fsdp2_prepare_model calls once the network is on no device:
/// it finds a shared weight by its name, which leads into what peft has put around the module.
void refuse_wrapped_ties(const Network& network) {
    constexpr const char* kWhere = "distributed.fsdp_config.cpu_ram_efficient_loading";
    if (!network.tied) return;
    if (network.head.lora || network.head.original)
        throw Error(ErrorKind::invalid, kWhere,
                    "transformers stops: it cannot tie a head that has an adapter or is trained as a whole (KeyError: "
                    "attribute 'weight' already exists)",
                    "leave it out, or lm_head out of target_modules and modules_to_save");
    if (network.embed.original)
        throw Error(ErrorKind::unsupported, kWhere,
                    "the head would be tied to the embedding's trained copy, which is not supported", "leave it out");
}

}  // namespace

namespace {

/// torch 2.11 distributed/tensor placement_types.py Shard._shard_tensor: what is scattered is padded to one size, so
/// shards with fewer rows are copied.
Tensor scatter_rows(const Fsdp2Comm& comm, const Tensor& whole) {
    const std::int64_t most = most_rows_of(whole, comm.world);
    std::vector<Tensor> copies;
    for (std::int64_t rank = static_cast<std::int64_t>(whole.size(0)) / most; rank < comm.world; ++rank)
        copies.push_back(empty_rows(comm, whole, most, Op::constant_pad_nd));
    return empty_rows(comm, whole, most, Op::empty_like);
}

/// torch 2.11 _fsdp_param.py reset_sharded_param, after load_state_dict has put a module's shards in their places:
/// those with fewer rows are padded once more. Returns the first ones, which the state dict may hold. A shared weight
/// is the first module's.
std::vector<Tensor> pad_shards(const Fsdp2Comm& comm, const std::vector<NamedParameter>& entries,
                               std::map<const Tensor*, Tensor>& shards, bool state_dict_holds) {
    std::vector<Tensor> state_dict;
    if (comm.offloads) return state_dict;
    std::set<const TensorImpl*> seen;
    for (const NamedParameter& p : entries) {
        const std::int64_t most = most_rows_of(*p.tensor, comm.world);
        if (rows_on(comm.loading_rank, *p.tensor, comm.world) == most || !seen.insert(p.tensor->get()).second) continue;
        Tensor& shard = shards.at(p.tensor);
        const Tensor first = shard;
        if (state_dict_holds) state_dict.push_back(first);
        shard = empty_rows(comm, *p.tensor, most, Op::new_empty);
    }
    return state_dict;
}

}  // namespace

std::map<const Tensor*, Tensor> load_full_state(const Fsdp2Comm& comm, Network& network) {
    refuse_wrapped_ties(network);
    std::map<const Tensor*, Tensor> shards;
    const std::vector<NamedParameter> entries = state_dict_entries(network);
    Tensor whole;
    for (const NamedParameter& p : entries) {
        if (comm.sends_rows) whole.reset();  // full_param is the host's before it is moved
        whole = empty(comm.session, p.tensor->sizes(), p.tensor->dtype(), comm.sends_rows ? Op::to_copy : Op::empty);
        shards[p.tensor] = kept_shard(comm, scatter_rows(comm, *p.tensor));
    }
    for (Tensor& first : pad_shards(comm, entries, shards, true)) first.reset();
    return shards;
}

// monkeypatch/accelerate/fsdp2.py fsdp2_load_full_state_dict.
std::map<const Tensor*, Tensor> load_full_state_as_axolotl(const Fsdp2Comm& comm, Network& network) {
    refuse_wrapped_ties(network);
    std::map<const Tensor*, Tensor> shards;
    const std::vector<NamedParameter> entries = state_dict_entries(network);
    for (const NamedParameter& p : entries) {
        const Tensor whole =
            empty(comm.session, p.tensor->sizes(), p.tensor->dtype(), comm.sends_rows ? Op::to_copy : Op::empty);
        Tensor shard = scatter_rows(comm, *p.tensor);
        const std::int64_t rows = rows_on(comm.loading_rank, *p.tensor, comm.world);
        if (rows < most_rows_of(*p.tensor, comm.world)) shard = empty_rows(comm, *p.tensor, rows, Op::clone);
        shards[p.tensor] = kept_shard(comm, std::move(shard));
    }
    (void)pad_shards(comm, entries, shards, false);
    return shards;
}

}  // namespace vramfit::model
