// transformers 4.40 to 5.17 modeling_utils.py _resize_token_embeddings, without the mean of the old rows.
#include "model/resize.hpp"

#include "vramfit/base/error.hpp"

namespace vramfit::model {

using namespace engine;

void resize_token_embeddings(const Run& run, Network& network) {
    const Size rows = run.spec.vocab_size;
    network.spec = &run.spec;
    if (network.embed.rows == rows) return;
    if (network.head.quantized)
        throw Error(ErrorKind::unsupported, "load.resize_token_embeddings",
                    "resizing a network with a quantized head is not supported", "keep lm_head out of quantization");
    const auto resized = [&](const Tensor& old) {
        return empty(run.session, {rows, old.size(1)}, old.dtype(), Op::loader);
    };
    Tensor old_embedding = network.embed.weight;
    network.embed.weight = resized(old_embedding);
    network.embed.rows = rows;
    network.head.out = rows;
    if (network.tied) {
        network.head.weight = network.embed.weight;
        return;
    }
    if (run.stack.resizing_keeps_embedding_module()) old_embedding.reset();
    Tensor old_head = network.head.weight;
    network.head.weight = resized(old_head);
    if (network.head.has_bias) network.head.bias = empty(run.session, {rows}, network.head.bias.dtype(), Op::loader);
    old_embedding.reset();
}

}  // namespace vramfit::model
