// transformers 4.40.2 models/{llama,gemma,mistral,qwen2}/modeling_*.py: XModel.forward.
#include "model/decoder_4_40.hpp"

#include "engine/ops/copy.hpp"
#include "engine/ops/pointwise.hpp"
#include "engine/ops/view.hpp"
#include "model/modules.hpp"

namespace vramfit::model {

using namespace engine;

Tensor decoder_4_40(const Run& run, const Network& network, const Batch& batch, const KvCachePointer& cache,
                    const Place& place) {
    const Family& family = family_of(run.spec.model_type);
    const Size length = batch.input_ids.size(1);
    Tensor positions, embedded;
    if (family.converts_masks) positions = arange(run.session, length);
    embedded = embed(network, batch.input_ids);
    if (!family.converts_masks) positions = arange(run.session, length);
    LayerInputs inputs;
    inputs.network = &network;
    inputs.position_ids = unsqueeze(positions, 0);
    if (cache && family.converts_masks) look_for_right_padding(run, batch);
    inputs.masks.full = mask_4_40(run, family, embedded, batch, positions);
    inputs.cache = cache;
    Tensor hidden = embedded;
    // GemmaModel: the normalizer is a number in host memory.
    if (family.scales_embedding) hidden = mul(hidden, host_tensor(run.session, {}, hidden.dtype()));
    return run_layers(run, network, std::move(hidden), inputs, place);
}

}  // namespace vramfit::model
