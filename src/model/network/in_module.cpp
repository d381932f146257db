// Names of modules as transformers gives them, without the network around the layers.
#include "model/network/in_module.hpp"

#include <charconv>

namespace vramfit::model {

using namespace engine;

namespace {

/// Where the number of a layer begins: behind "layers." or GPT-2's "h."; npos outside of the layers.
std::size_t layer_number(std::string_view name) {
    for (const std::string_view list : {std::string_view("layers."), std::string_view("h.")}) {
        const std::size_t at = name.find(list);
        if (at != std::string_view::npos && (at == 0 || name[at - 1] == '.')) return at + list.size();
    }
    return std::string_view::npos;
}

std::string_view without_network(std::string_view name) {
    for (const std::string_view outer : {std::string_view("model."), std::string_view("transformer."),
                                         std::string_view("gpt_neox."), std::string_view("decoder.")})
        if (name.starts_with(outer)) name.remove_prefix(outer.size());
    return name;
}

}  // namespace

Module module_named(Recorder& recorder, std::string_view name) {
    const std::size_t number = layer_number(name);
    if (number == std::string_view::npos) return {-1, recorder.intern(without_network(name))};
    std::int16_t layer = -1;
    const char* const end = std::from_chars(name.data() + number, name.data() + name.size(), layer).ptr;
    std::string_view rest = name.substr(static_cast<std::size_t>(end - name.data()));
    if (rest.starts_with('.')) rest.remove_prefix(1);
    return {layer, rest.empty() ? std::uint16_t{0} : recorder.intern(rest)};
}

void belongs_to(const Tensor& t, std::string_view module) {
    if (!t.defined()) return;
    Recorder& recorder = t.session().recorder;
    recorder.place(t->storage->id, module_named(recorder, module));
}

void place_parameters(Network& network) {
    for (const NamedParameter& p : named_states(network)) belongs_to(*p.tensor, p.module);
    for (const Linear* linear : linears(network)) {
        if (const auto& packed = linear->quantized)
            for (const Tensor& t : {packed->packed, packed->absmax, packed->code, packed->offset, packed->nested_code,
                                    packed->nested_absmax})
                belongs_to(t, linear->name);
        if (const auto& packed = linear->in_8bit)
            for (const Tensor& t : {packed->packed, packed->scales}) belongs_to(t, linear->name);
    }
}

}  // namespace vramfit::model
