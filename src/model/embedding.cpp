// The token embedding with what peft puts on it.
#include "engine/ops/embedding.hpp"

#include "model/adapters.hpp"
#include "model/modules.hpp"

namespace vramfit::model {

Tensor embed(const Network& network, const Tensor& ids) {
    const Tensor out = network.embed.lora ? lora_embedding(network.embed, ids)
                                          : engine::embedding(network.embed.weight, ids);
    // transformers modeling_utils.py enable_input_require_grads: output.requires_grad_(True).
    if (network.input_requires_grad && !out.requires_grad() && engine::grad_enabled(out.session()))
        out.set_requires_grad(true);
    return out;
}

}  // namespace vramfit::model
