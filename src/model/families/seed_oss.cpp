// The family seed_oss: transformers models/seed_oss/modeling_seed_oss.py.
#include "engine/ops/dropout.hpp"
#include "model/decoder_layer.hpp"
#include "model/modules.hpp"

namespace vramfit::families {

using namespace model;
using namespace engine;

namespace {

// SeedOssMLP.forward: dropout behind Llama's.
Tensor seed_oss_mlp(const Run& run, const DecoderLayer& layer, const Tensor& x) {
    Tensor down = gated_mlp(run, layer, x);
    down = dropout(down, run.spec.residual_dropout);
    return down;
}

}  // namespace

extern const Family seed_oss_entry;
const Family seed_oss_entry = {.model_type = "seed_oss",
                               .norm = llama_norm,
                               .layer = pre_norm_layer,
                               .mlp = seed_oss_mlp,
                               .attention_drops = true};

}  // namespace vramfit::families
