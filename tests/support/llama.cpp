// A small Llama and questions about it.
#include "support/llama.hpp"

#include "vramfit/spec/devices.hpp"
#include "vramfit/spec/stacks.hpp"

namespace vramfit::test {

Job small_llama(std::int64_t layers) {
    Job job;
    job.model.name = "small-llama";
    job.model.model_type = "llama";
    job.model.vocab_size = 32000;
    job.model.hidden_size = 512;
    job.model.intermediate_size = 1376;
    job.model.num_hidden_layers = layers;
    job.model.num_attention_heads = 8;
    job.model.num_key_value_heads = 4;
    job.model.head_dim = 64;
    job.model.max_position_embeddings = 2048;
    job.model.layer_types.assign(static_cast<std::size_t>(layers), LayerAttention::full);
    job.stack = stack_from("").stack;
    job.device = unlimited_device();
    return job;
}

}  // namespace vramfit::test
