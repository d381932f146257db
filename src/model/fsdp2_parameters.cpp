// accelerate 1.15 utils/fsdp_utils.py, torch 2.11 distributed/fsdp/_fully_shard/_fsdp_init.py.
#include "model/fsdp2_parameters.hpp"

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

std::vector<ParameterPlaces> parameters_of(DecoderLayer& layer) {
    std::vector<ParameterPlaces> all;
    const auto add = [&all](Tensor& t) {
        if (t.defined()) all.push_back({&t});
    };
    const auto norm = [&add](Norm& module) {
        add(module.weight);
        add(module.bias);
    };
    const auto linear = [&add](Linear& module) {
        if (module.quantized && is_floating(module.quantized->packed.dtype())) add(module.quantized->packed);
        add(module.weight);
        add(module.bias);
        if (!module.lora) return;
        add(module.lora->a);
        add(module.lora->b);
    };
    const auto bare = [&add](BareModule& module) {
        for (Tensor& t : module.tensors) add(t);
    };
    for_each_module(layer, linear, norm, bare);
    return all;
}

std::vector<ParameterPlaces> norm_parameters(Network& network) {
    std::vector<ParameterPlaces> all{{&network.norm.weight}};
    if (network.norm.bias.defined()) all.push_back({&network.norm.bias});
    return all;
}

std::vector<ParameterPlaces> tail_parameters(Network& network, bool with_norm) {
    std::vector<ParameterPlaces> all;
    if (with_norm) all = norm_parameters(network);
    if (network.tied)
        all.push_back({&network.embed.weight, &network.head.weight});
    else
        all.push_back({&network.head.weight});
    if (network.head.bias.defined()) all.push_back({&network.head.bias});
    return all;
}

Tensor move_to_device(const ParameterPlaces& places) {
    Tensor on_device = to_device(*places[0]);
    on_device.set_requires_grad(places[0]->requires_grad());
    for (Tensor* place : places) *place = on_device;
    return on_device;
}

std::map<const Tensor*, Tensor> load_full_state(const Fsdp2Comm& comm, Network& network) {
    std::vector<NamedParameter> all = named_parameters(network);
    if (network.tied) all.push_back({"lm_head", {}, "weight", &network.head.weight});
    std::map<const Tensor*, Tensor> shards;
    Tensor whole;
    for (const NamedParameter& p : all) {
        if (static_cast<std::int64_t>(p.tensor->size(0)) % comm.world != 0)
            throw Error(
                ErrorKind::unsupported, "distributed.fsdp_config.cpu_ram_efficient_loading",
                fmt::format("{} rows of {} on {} processes: shards of different sizes are not supported with it",
                            static_cast<std::int64_t>(p.tensor->size(0)), p.name(), comm.world),
                "leave it out");
        if (comm.rank == 0) whole.reset();  // full_param is the host's before it is moved
        whole = empty(comm.session, p.tensor->sizes(), p.tensor->dtype(), comm.rank == 0 ? Op::to_copy : Op::empty);
        shards[p.tensor] = make_shard(comm, *p.tensor, Op::empty_like);
    }
    return shards;
}

}  // namespace vramfit::model
