// transformers 4.40 to 4.47 models/*/modeling_*.py: XModel.forward.
#include "model/causal_lm/decoder_4_40.hpp"

#include "engine/ops/copy.hpp"
#include "engine/ops/pointwise.hpp"
#include "engine/ops/view.hpp"
#include "model/layers/attention/attention_4_40.hpp"
#include "model/network/modules.hpp"

namespace vramfit::model {

using namespace engine;

Tensor decoder_4_40(const Run& run, const Network& network, const Batch& batch, const KvCachePointer& cache,
                    const Place& place) {
    const Family& family = family_of(run.spec.model_type);
    const Size length = batch.input_ids.size(1);
    Tensor positions, embedded;
    const bool converts = family.converts_masks && run.stack.masks_are_converted();
    if (converts) positions = arange(run.session, length);
    embedded = embed(network, batch.input_ids);
    if (!converts) positions = arange(run.session, length);
    LayerInputs inputs;
    inputs.network = &network;
    inputs.position_ids = unsqueeze(positions, 0);
    if (cache && converts) look_for_right_padding(run, batch);
    inputs.masks.full = mask_4_40(run, family, embedded, batch, positions);
    inputs.cache = cache;
    Tensor hidden = embedded;
    if (family.rotary_modules(run.stack).decoder) {
        update_frequencies(network, inputs.position_ids);
        inputs.rotary = rotary_tables(network.buffers[0], hidden.dtype(), inputs.position_ids, false);
    }
    // GemmaModel: the normalizer is a number in host memory.
    if (family.scales_embedding) hidden = mul(hidden, host_tensor(run.session, {}, hidden.dtype()));
    return run_layers(run, network, std::move(hidden), inputs, place);
}

}  // namespace vramfit::model
