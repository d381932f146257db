// peft 0.10 to 0.21.2: tuners/lora/layer.py and bnb.py, tuners/tuners_utils.py inject_adapter and cast_adapter_dtype.
#include "model/adapters.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "engine/ops/copy.hpp"
#include "engine/ops/dropout.hpp"
#include "engine/ops/embedding.hpp"
#include "engine/ops/matmul.hpp"
#include "engine/ops/pointwise.hpp"
#include "engine/ops/view.hpp"
#include "model/modules.hpp"
#include "vramfit/base/error.hpp"
#include "vramfit/spec/modules.hpp"

namespace vramfit::model {

using namespace engine;

namespace {

void refuse_if(bool given, const char* where, const char* what) {
    if (given) throw Error(ErrorKind::unsupported, where, fmt::format("{} not supported", what), "leave it out");
}

void refuse_unsupported(const LoraPlan& plan) {
    refuse_if(plan.use_dora, "peft.use_dora", "DoRA is");
    refuse_if(plan.bias != LoraBias::none, "peft.bias", "training of biases beside adapters is");
    refuse_if(!plan.modules_to_save.empty(), "peft.modules_to_save", "whole modules beside adapters are");
    refuse_if(plan.lora_bias, "peft.lora_bias", "biases of adapters are");
}

/// LoraLayer.update_layer: the matrix is made in host memory, then _move_adapter_to_device_of_base_layer.
Tensor moved(Session& session, const Dims& sizes, DType dtype) { return empty(session, sizes, dtype, Op::to_copy); }

/// _get_base_layer_device_and_dtype: the weight's, or for 4-bit layers what the version makes of it.
DType adapter_dtype(const Stack& stack, const Linear& layer) {
    if (!layer.quantized) return layer.weight.dtype();
    return stack.adapters_take_compute_dtype() ? layer.quantized->compute_dtype : DType::float32;
}

void adapt(Session& session, Linear& layer, const LoraTarget& target, double dropout) {
    const DType dtype = adapter_dtype(session.stack, layer);
    LoraAdapter adapter;
    adapter.a = moved(session, {target.r, layer.in}, dtype);
    adapter.b = moved(session, {layer.out, target.r}, dtype);
    adapter.dropout = dropout;
    layer.lora = adapter;
}

void adapt(Session& session, Embedding& layer, const LoraTarget& target) {
    LoraEmbeddingAdapter adapter;
    adapter.a = moved(session, {target.r, layer.weight.size(0)}, layer.weight.dtype());
    adapter.b = moved(session, {layer.weight.size(1), target.r}, layer.weight.dtype());
    layer.lora = adapter;
    // A hook that is there already stays on the module that it was put on, which is now inside.
    layer.base_output_requires_grad = layer.output_requires_grad;
    layer.output_requires_grad = false;
}

/// The matrices in the order of named_modules.
std::vector<Tensor*> matrices(Network& network) {
    std::vector<Tensor*> out;
    const auto add = [&out](auto& adapter) {
        if (!adapter) return;
        out.push_back(&adapter->a);
        out.push_back(&adapter->b);
    };
    add(network.embed.lora);
    add(network.positions.lora);
    for (Linear* linear : linears(network)) add(linear->lora);
    return out;
}

/// cast_adapter_dtype: a new parameter for each half-precision matrix.
void raise_dtype(Network& network) {
    for (Tensor* t : matrices(network))
        if (is_half(t->dtype())) *t = to(*t, DType::float32);
}

}  // namespace

void add_adapters(const Run& run, Network& network) {
    Session& session = run.session;
    const LoraPlan& plan = *run.plan.peft;
    refuse_unsupported(plan);
    const Scoped<Category> fresh(session.recorder.fresh, Category::adapters);
    const std::vector<LoraTarget> targets = lora_targets(run.spec, plan);
    if (targets.empty()) throw Error(ErrorKind::invalid, "peft.target_modules", "matches no module");
    for (const NamedParameter& p : named_parameters(network)) p.tensor->set_requires_grad(false);
    const std::vector<Linear*> all = linears(network);
    for (const LoraTarget& target : targets) {
        if (target.module.kind == ModuleKind::embedding) {
            adapt(session, target.module.part == ModulePart::positions ? network.positions : network.embed, target);
            continue;
        }
        const auto found =
            std::find_if(all.begin(), all.end(), [&](const Linear* l) { return l->name == target.module.name; });
        if (found == all.end())
            throw Error(ErrorKind::invalid, "peft.target_modules",
                        fmt::format("'{}' is no linear layer and no embedding", target.module.name));
        adapt(session, **found, target, plan.lora_dropout);
    }
    // PeftModel.__init__, prepare_model_for_gradient_checkpointing: only where checkpointing is already on.
    if (network.checkpointing != Checkpointing::off && !run.plan.load.quantization)
        network.embed.output_requires_grad = true;
    if (run.stack.adapters_of_float16_are_float32()) raise_dtype(network);
    for (Tensor* t : matrices(network)) t->set_requires_grad(true);
}

namespace {

/// lora_B(lora_A(dropout(x))) * scaling.
Tensor delta(const LoraAdapter& adapter, const Tensor& x) {
    Tensor t = dropout(x, adapter.dropout);
    t = linear(t, adapter.a);
    t = linear(t, adapter.b);
    return mul(t, 1.0);
}

// tuners/lora/layer.py Linear.forward.
Tensor lora_dense(const Linear& layer, const Tensor& x) {
    Tensor result = base_forward(layer, x);
    const DType dtype = result.dtype();
    const Tensor input = to(x, layer.lora->a.dtype());
    result = add(result, delta(*layer.lora, input));
    return to(result, dtype);
}

// tuners/lora/bnb.py Linear4bit.forward: a defensive clone, casts only outside of autocast.
Tensor lora_4bit(const Linear& layer, const Tensor& x) {
    Tensor result = base_forward(layer, x);
    result = clone(result);
    const bool convert = !x.session().autocast.enabled;
    const Tensor input = convert ? to(x, layer.lora->a.dtype()) : x;
    Tensor output = delta(*layer.lora, input);
    if (convert) output = to(output, result.dtype());
    return add(result, output);
}

}  // namespace

Tensor lora_linear(const Linear& layer, const Tensor& x) {
    return layer.quantized ? lora_4bit(layer, x) : lora_dense(layer, x);
}

Tensor lora_embedding(const Embedding& layer, const Tensor& ids) {
    Tensor result = base_forward(layer, ids);
    if (layer.base_output_requires_grad && grad_enabled(ids.session())) result.set_requires_grad(true);
    const DType dtype = result.dtype();
    const Tensor a = transpose2d(layer.lora->a);
    const Tensor b = transpose2d(layer.lora->b);
    const Tensor after_a = engine::embedding(a, ids);
    Tensor output = matmul(after_a, b);
    output = mul(output, 1.0);
    if (layer.scale.defined()) output = mul(output, to(layer.scale, output.dtype()));
    result = add(result, output);
    return to(result, dtype);
}

}  // namespace vramfit::model
