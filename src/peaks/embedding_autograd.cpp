// The end of the backward pass: the embedding.
#include "vramfit/peaks/peak.hpp"

namespace vramfit::peaks {

namespace {

bool covers_embedding_autograd(const Phase& phase, const RunShape&) {
    return phase.kind == PhaseKind::backward_embedding;
}

}  // namespace

extern const Peak embedding_autograd_entry;
const Peak embedding_autograd_entry = {
    .id = "I",
    .name = "embedding_autograd",
    .question = "What is held while the gradient of the embedding is computed?",
    .moment = "The backward pass ends: the gradient of the embedding is computed.",
    .order = 130,
    .covers = covers_embedding_autograd,
};

}  // namespace vramfit::peaks
