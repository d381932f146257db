// peft 0.21.2 tuners/lily/layer.py Linear, model.py _post_injection_hook.
#include <map>

#include <fmt/format.h>

#include "engine/ops/copy.hpp"
#include "engine/ops/einsum.hpp"
#include "engine/ops/matmul.hpp"
#include "engine/ops/pointwise.hpp"
#include "engine/ops/softmax.hpp"
#include "engine/ops/sum.hpp"
#include "engine/ops/view.hpp"
#include "engine/session.hpp"
#include "model/adapters/kinds/kinds.hpp"
#include "model/network/modules.hpp"

namespace vramfit::model {

using namespace engine;

namespace {

enum LilyPart : std::size_t { kA, kB };

const Tensor& tied(const OtherAdapter& adapter, LilyPart part) { return (*adapter.shared)[adapter.tied[part].place]; }

}  // namespace

void create_lily(const NewAdapter& made) {
    const Size experts = made.plan().options.num_b;
    made.tie("lily_A.default.weight", {made.rank, made.layer.in});
    made.tie("lily_B.default.weight", {experts * made.rank, made.layer.out});
    made.add("lily_router.default.weight", {experts, made.rank}, 1);
}

namespace {

/// The other layer's in place of this one's own, which goes.
void share(const NewAdapter& made, LilyPart part, const NewAdapter& of) {
    TiedTensor& own = made.adapter.tied[part];
    (*made.adapter.shared)[own.place].reset();
    own.place = of.adapter.tied[part].place;
    own.first = false;
}

/// The name in `target_modules` that the module's ends with, or the expression.
std::string suffix_of(const LoraPlan& plan, const std::string& module) {
    if (const auto* expression = std::get_if<std::string>(&plan.target_modules)) return *expression;
    for (const std::string& name : std::get<std::vector<std::string>>(plan.target_modules))
        if (module.ends_with(name)) return name;
    return module;
}

}  // namespace

// Layers of one name and shape have one B, and each `stride_A` of them one A.
void finish_lily(const std::vector<NewAdapter>& all) {
    std::vector<std::vector<const NewAdapter*>> groups;
    std::map<std::string, std::size_t> places;
    for (const NewAdapter& made : all) {
        const NamedModule& module = made.target.module;
        const std::string key = fmt::format("{} {} {}", suffix_of(made.plan(), module.name), module.in, module.out);
        const auto [place, is_new] = places.try_emplace(key, groups.size());
        if (is_new) groups.emplace_back();
        groups[place->second].push_back(&made);
    }
    for (const auto& layers : groups) {
        const auto stride = static_cast<std::size_t>(all.front().plan().options.stride_a);
        for (std::size_t i = 1; i < layers.size(); ++i) {
            share(*layers[i], kB, *layers[0]);
            if (i % stride != 0) share(*layers[i], kA, *layers[i / stride * stride]);
        }
    }
}

Tensor lily(const Linear& layer, const Tensor& x) {
    const OtherAdapter& adapter = *layer.other;
    const Tensor &a = tied(adapter, kA), &b = tied(adapter, kB), &router = adapter[0];
    const Tensor result = base_layer(layer, x);
    const Tensor experts = view(b, {router.size(0), -1, layer.out});
    const Tensor input = to(x, a.dtype());
    const Tensor hidden = functional_linear(input, a);
    const Tensor logits = functional_linear(hidden, router);
    const Tensor probabilities = softmax(logits, false);
    const Tensor shares = mean_over(reshape(probabilities, {-1, router.size(0)}), 0, false);
    const Tensor combined = einsum("e,eio->io", shares, experts);
    const Tensor delta = matmul(hidden, combined);
    const Tensor scaled = to(mul(delta, 1.0), result.dtype());
    return add(result, scaled);
}

}  // namespace vramfit::model
