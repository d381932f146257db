// peft 0.21.2 tuners/tuners_utils.py inject_adapter, for the kinds beside LoRA.
#include "model/adapters/kinds/kinds.hpp"

#include <algorithm>
#include <memory>

#include <fmt/format.h>

#include "engine/ops/copy.hpp"
#include "engine/session.hpp"
#include "model/network/called.hpp"
#include "model/network/modules.hpp"
#include "vramfit/base/error.hpp"

namespace vramfit::model {

using namespace engine;

namespace {

struct Method {
    AdapterKind kind;
    void (*create)(const NewAdapter& made);
    Tensor (*forward)(const Linear& layer, const Tensor& x);
    void (*finish)(const std::vector<NewAdapter>& all) = nullptr;  ///< once all layers are there
};

constexpr Method kMethods[] = {
    {AdapterKind::ia3, create_ia3, ia3},
    {AdapterKind::loha, create_loha, loha},
    {AdapterKind::lokr, create_lokr, lokr},
    {AdapterKind::vera, create_vera, vera},
    {AdapterKind::oft, create_oft, oft},
    {AdapterKind::miss, create_miss, miss},
    {AdapterKind::hra, create_hra, hra},
    {AdapterKind::adalora, create_adalora, adalora},
    {AdapterKind::road, create_road, road},
    {AdapterKind::randlora, create_randlora, randlora},
    {AdapterKind::vblora, create_vblora, vblora},
    {AdapterKind::delora, create_delora, delora},
    {AdapterKind::gralora, create_gralora, gralora},
    {AdapterKind::pvera, create_pvera, pvera},
    {AdapterKind::unilora, create_unilora, unilora, finish_unilora},
    {AdapterKind::lily, create_lily, lily, finish_lily},
    {AdapterKind::glora, create_glora, glora},
    {AdapterKind::deft, create_deft, deft},
    {AdapterKind::beft, create_beft, beft},
    {AdapterKind::hira, create_hira, hira},
    {AdapterKind::peanut, create_peanut, peanut},
    {AdapterKind::supertuning, create_supertuning, supertuning},
    {AdapterKind::tinylora, create_tinylora, tinylora},
    {AdapterKind::psoft, create_psoft, psoft},
    {AdapterKind::osf, create_osf, osf},
};

constexpr Method kBdLora = {AdapterKind::lora, create_bdlora, bdlora};
constexpr Method kKasa = {AdapterKind::lora, create_kasa, kasa};

const Method& method_of(const LoraPlan& plan) {
    if (plan.block_diagonal) return kBdLora;
    if (plan.kasa) return kKasa;
    return *std::find_if(std::begin(kMethods), std::end(kMethods),
                         [&](const Method& m) { return m.kind == plan.kind; });
}

[[noreturn]] void refuse_target(const std::string& name) {
    throw Error(ErrorKind::unsupported, "peft.target_modules", fmt::format("an adapter of '{}' is not supported", name),
                "modules of the decoder layers");
}

/// tuners/ln_tuning/layer.py LNTuningLayer.update_layer: a deep copy, whose parameters are clones.
void copy_norm(Norm& norm) {
    norm.original.emplace();
    norm.original->place = ".base_layer";
    norm.original->place_of_copy = ".ln_tuning_layers.default";
    for (const auto& [own, kept] :
         {std::pair{&norm.weight, &norm.original->weight}, std::pair{&norm.bias, &norm.original->bias}}) {
        if (!own->defined()) continue;
        *kept = *own;
        *own = clone(detach(*own));
        own->set_requires_grad(true);
    }
}

void copy_norms(Network& network, const std::vector<LoraTarget>& targets) {
    const std::vector<Norm*> all = norms(network);
    for (const LoraTarget& target : targets) {
        const auto found =
            std::find_if(all.begin(), all.end(), [&](const Norm* n) { return n->name == target.module.name; });
        if (found == all.end()) refuse_target(target.module.name);
        copy_norm(**found);
    }
}

}  // namespace

void NewAdapter::share(std::initializer_list<Dims> sizes) const {
    std::vector<Tensor>& shared = *adapter.shared;
    for (Tensor& t : shared) t = to(t, dtype);
    if (!shared.empty()) return;
    for (const Dims& size : sizes) shared.push_back(moved_from_host(run.session, size, dtype));
    for (const Tensor& t : shared) label(t, Category::adapters);
}

DType adapter_dtype(const Stack& stack, const Linear& layer) {
    if (layer.in_8bit) return DType::float32;  // the weight's integers say nothing
    if (!layer.quantized) return layer.weight.dtype();
    if (stack.adapters_take_compute_dtype()) return layer.quantized->compute_dtype;
    const DType storage = layer.quantized->packed.dtype();
    return is_floating(storage) ? storage : DType::float32;
}

Tensor base_layer(const Linear& layer, const Tensor& x) {
    return called(&layer, Part::base_layer, x, [&layer](const Tensor& given) { return base_forward(layer, given); });
}

Tensor base_layer_cloned(const Linear& layer, const Tensor& x) {
    Tensor result = base_layer(layer, x);
    if (layer.quantized) result = clone(result);
    return result;
}

void add_other_adapters(const Run& run, Network& network, const std::vector<LoraTarget>& targets) {
    const LoraPlan& plan = *run.plan.peft;
    if (plan.kind == AdapterKind::ln_tuning) return copy_norms(network, targets);
    const Method& method = method_of(plan);
    const std::vector<Linear*> all = linears(network);
    const auto shared = std::make_shared<std::vector<Tensor>>();
    std::vector<NewAdapter> made;
    made.reserve(targets.size());
    for (const LoraTarget& target : targets) {
        const auto found =
            std::find_if(all.begin(), all.end(), [&](const Linear* l) { return l->name == target.module.name; });
        if (found == all.end()) refuse_target(target.module.name);
        Linear& layer = **found;
        OtherAdapter& adapter = layer.other.emplace();
        adapter.forward = method.forward;
        adapter.plan = &plan;
        adapter.dropout = plan.lora_dropout;
        adapter.shared = shared;
        const Size rank = target.has_own_rank ? Size(target.r) : run.sizes.rank;
        made.push_back({run, layer, target, targets, rank, adapter_dtype(run.stack, layer), adapter});
        method.create(made.back());
    }
    if (method.finish) method.finish(made);
}

}  // namespace vramfit::model
