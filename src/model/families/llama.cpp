// The family llama: transformers models/llama/modeling_llama.py.
#include "model/layers/decoder_layer.hpp"
#include "model/network/modules.hpp"

namespace vramfit::families {

using namespace model;

namespace {

RotaryModules llama_rotary(const Stack& stack) {
    if (!stack.attention_in_classes()) return {};
    return {
        .decoder = stack.llama_shares_rotary_tables(), .layers = true, .caches = stack.llama_caches_rotary_tables()};
}

}  // namespace

extern const Family llama_entry;
const Family llama_entry = {
    .model_type = "llama",
    .compared = {.context_parallelism = true, .tensor_parallelism = true},
    .norm = llama_norm,
    .layer = pre_norm_layer,
    .rotary_modules = llama_rotary,
};

}  // namespace vramfit::families
