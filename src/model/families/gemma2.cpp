// The family gemma2: transformers models/gemma2/modeling_gemma2.py.
#include "engine/ops/pointwise.hpp"
#include "model/decoder_layer.hpp"
#include "model/modules.hpp"

namespace vramfit::families {

using namespace model;

namespace {

// Gemma2ForCausalLM.forward: final_logit_softcapping.
Tensor cap_logits(const Run& run, Tensor logits) {
    if (!run.spec.final_logit_softcapping) return logits;
    logits = engine::div(logits, *run.spec.final_logit_softcapping);
    logits = engine::tanh(logits);
    return engine::mul(logits, *run.spec.final_logit_softcapping);
}

}  // namespace

extern const Family gemma2_entry;
const Family gemma2_entry = {
    .model_type = "gemma2",
    .norm = gemma_norm,
    .layer = four_norm_layer,
    .scales_embedding = true,
    .shape_logits = cap_logits,
};

}  // namespace vramfit::families
