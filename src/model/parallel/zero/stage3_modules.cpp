// Which parameters of a network are which module's, and which of them stay gathered.
#include "model/parallel/zero/stage3_modules.hpp"

#include <initializer_list>
#include <utility>

#include "engine/session.hpp"
#include "model/loading/load_entries.hpp"
#include "model/network/called.hpp"

namespace vramfit::model {

std::vector<std::size_t> mark_persistent_parameters(engine::Session& session, Network& network, Partitions& partitions,
                                                    std::int64_t threshold) {
    std::vector<std::size_t> persistent;
    for (const NamedParameter& p : named_states(network)) {
        const std::size_t id = *partitions.find(*p.tensor);
        partitions.belongs(id, module_named(session.recorder, p.module));
        if (partitions[id].elements > threshold) continue;
        partitions[id].persists = true;
        persistent.push_back(id);
    }
    return persistent;
}

void list_own_parameters(Network& network, Partitions& partitions, Coordinator& coordinator) {
    const auto own = [&](const void* place, Part part, std::initializer_list<const Tensor*> tensors) {
        std::vector<std::size_t> ids;
        for (const Tensor* t : tensors)
            if (t->defined()) ids.push_back(*partitions.find(*t));
        coordinator.set_parameters(key_of(place, part), std::move(ids));
    };
    const auto part_of = [](const auto& module) { return module.original ? Part::saved : Part::itself; };
    Embedding& table = network.embed;  // adapters of it are in dictionaries, which are not called
    own(&table, table.lora ? Part::base_layer : part_of(table), {&table.weight});
    if (table.lora) own(&table, Part::magnitude, {&table.lora->magnitude});
    if (network.positions.rows > 0)  // GPT2Model.wpe
        own(&network.positions, Part::itself, {&network.positions.weight});
    for (Norm* norm : norms(network)) own(norm, part_of(*norm), {&norm->weight, &norm->bias});
    for (Linear* l : linears(network)) {
        const Tensor& weight = l->quantized ? l->quantized->packed : l->in_8bit ? l->in_8bit->stored() : l->weight;
        own(l, l->lora ? Part::base_layer : part_of(*l), {&weight, &l->bias});
        if (!l->lora) continue;
        own(l, Part::lora_a, {&l->lora->a});
        own(l, Part::lora_b, {&l->lora->b, &l->lora->bias});
        own(l, Part::magnitude, {&l->lora->magnitude});
    }
}

}  // namespace vramfit::model
