// Names as tools/trace/vramfit_trace/worker/flat.py gives them.
#include "model/network/shared_module.hpp"

#include <algorithm>
#include <string>

#include <fmt/format.h>

#include "engine/session.hpp"

namespace vramfit::model {

using namespace engine;

namespace {

/// The names' common beginning, of whole parts: "mlp" of "mlp.up_proj" and "mlp.down_proj".
std::string_view common_part(std::string_view a, std::string_view b) {
    const auto is_end = [](std::string_view name, std::size_t at) { return at == name.size() || name[at] == '.'; };
    std::size_t same = 0;
    for (std::size_t at = 0; at <= std::min(a.size(), b.size()); ++at) {
        if (is_end(a, at) && is_end(b, at)) same = at;
        if (at == std::min(a.size(), b.size()) || a[at] != b[at]) break;
    }
    return a.substr(0, same);
}

/// A part of the network: a layer, or what is beside the layers.
std::string part_of_network(const Recorder& recorder, Module module) {
    if (module.layer >= 0) return fmt::format("layers.{}", module.layer);
    const std::string_view name = recorder.name_of(module);
    return std::string(name.substr(0, name.find('.')));
}

}  // namespace

Module around(Recorder& recorder, std::span<const Module> modules) {
    if (modules.empty()) return {};
    const Module first = modules.front(), last = modules.back();
    std::string common(recorder.name_of(first));
    bool in_one_layer = true;
    for (const Module& module : modules) {
        in_one_layer = in_one_layer && module.layer == first.layer;
        common = common_part(common, recorder.name_of(module));
    }
    if (in_one_layer && (first.layer >= 0 || !common.empty()))
        return {first.layer, common.empty() ? std::uint16_t{0} : recorder.intern(common)};
    const std::string from = part_of_network(recorder, first), to = part_of_network(recorder, last);
    return {-1, recorder.intern(from == to ? from : fmt::format("{}..{}", from, to))};
}

void belongs_to(const Tensor& t, Module module) {
    if (t.defined()) t.session().recorder.place(t->storage->id, module);
}

std::vector<Module> modules_of(std::span<const Tensor> parameters) {
    std::vector<Module> out;
    for (const Tensor& t : parameters) out.push_back(t.session().recorder.place_of(t->storage->id));
    return out;
}

}  // namespace vramfit::model
