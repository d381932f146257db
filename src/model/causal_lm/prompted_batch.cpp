// peft 0.21.2 peft_model.py PeftModelForCausalLM.forward.
#include "model/causal_lm/prompted_batch.hpp"

#include <array>

#include "engine/ops/copy.hpp"
#include "engine/ops/shape.hpp"
#include "engine/ops/split.hpp"
#include "engine/ops/view.hpp"
#include "engine/session.hpp"
#include "model/adapters/kinds/kinds.hpp"
#include "model/adapters/prompt_learning.hpp"
#include "model/network/modules.hpp"

namespace vramfit::model {

using namespace engine;

namespace {

Tensor joined(const Tensor& first, const Tensor& second) {
    const std::array<Tensor, 2> parts{first, second};
    return cat(parts, 1);
}

/// DynamicCache of what get_prompt made: a copy for each layer.
KvCachePointer prefix_cache(const Run& run, const Network& network, const Size& rows) {
    Tensor all = prefixes(run, *network.prompt, rows);
    all = to(all, network.embed.weight.dtype());  // modeling_utils.py ModuleUtilsMixin.dtype: of the first parameter
    const ModelSpec& spec = run.spec;
    all =
        view(all, {rows, network.prompt->tokens, 2 * spec.num_hidden_layers, spec.num_key_value_heads, spec.head_dim});
    const std::array<int, 5> layers_first{2, 0, 3, 1, 4};
    all = permute(all, layers_first);
    KvCachePointer cache = std::make_shared<KvCache>(network.layers.size());
    const std::vector<Tensor> of_layers = chunk(all, static_cast<int>(network.layers.size()), 0);
    for (std::size_t i = 0; i < of_layers.size(); ++i) {
        std::vector<Tensor> both = unbind(of_layers[i]);
        cache->update(network.layers[i], {}, both[0], both[1]);
    }
    return cache;
}

}  // namespace

PromptedBatch prompted(const Run& run, const Network& network, const Batch& batch, const Place& place) {
    run.session.recorder.begin(phase_at(PhaseKind::embedding, place));
    PromptedBatch out{batch, {}, {}, {}, {}};
    const Size rows = batch.input_ids.size(0);
    const Dims prefix{rows, network.prompt->tokens};
    if (batch.attention_mask.defined()) {
        out.prefix_mask = moved_from_host(run.session, prefix, DType::float32);
        out.batch.attention_mask = joined(out.prefix_mask, batch.attention_mask);
    }
    if (fills_cache(run.plan.peft->kind)) {
        out.cache = prefix_cache(run, network, rows);
        return out;
    }
    Tensor embedded = embed(network, batch.input_ids);
    if (batch.labels.defined()) {
        out.prefix_labels = moved_from_host(run.session, prefix, DType::int64);
        out.batch.labels = joined(out.prefix_labels, batch.labels);
    }
    out.prompts = virtual_tokens(run, *network.prompt, rows);
    out.prompts = to(out.prompts, embedded.dtype());
    out.batch.inputs_embeds = joined(out.prompts, embedded);
    out.batch.input_ids = {};
    return out;
}

}  // namespace vramfit::model
