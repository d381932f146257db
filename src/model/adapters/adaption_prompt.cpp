// peft 0.21.2 tuners/adaption_prompt/layer.py _BaseAdaptedAttention.__init__, model.py add_adapter.
#include "model/adapters/adaption_prompt.hpp"

#include "engine/session.hpp"
#include "model/network/in_module.hpp"

namespace vramfit::model {

using namespace engine;

namespace {

/// Packed weights have no dtype of their own to give.
DType dtype_of_prompts(const DecoderLayer& layer) {
    const Linear& first = layer.q.name.empty() ? layer.o : layer.q;
    return is_packed(first) ? DType::float32 : first.weight.dtype();
}

void add_prompt(const Run& run, DecoderLayer& layer) {
    const DType dtype = dtype_of_prompts(layer);
    const std::int64_t length = run.plan.peft->options.adapter_len;
    BareModule& own = layer.attention_parameters;
    own.name = parent_of(layer.o.name);
    own.parameters = {{"adaption_prompt", {1, length, run.spec.hidden_size}, {}}, {"adaption_gate", {1}, {}}};
    own.tensors = {empty(run.session, {1, length, run.spec.hidden_size}, dtype),
                   empty(run.session, {1}, dtype, Op::zeros)};
    own.lora.resize(own.parameters.size());
    layer.order.insert(layer.order.begin(), ModulePart::attention);  // in front of the norms, which are not trained
    layer.prompted = true;
}

}  // namespace

void add_adaption_prompts(const Run& run, Network& network) {
    const auto count = static_cast<std::size_t>(run.plan.peft->options.adapter_layers);
    for (std::size_t i = network.layers.size() - count; i < network.layers.size(); ++i)
        add_prompt(run, network.layers[i]);
}

}  // namespace vramfit::model
