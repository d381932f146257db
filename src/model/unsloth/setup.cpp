// unsloth 2026.10.7, models/llama.py; unsloth_zoo 2026.10.7, tokenizer_utils.py.
#include "model/unsloth/setup.hpp"

#include "engine/ops/copy.hpp"
#include "engine/ops/nonzero.hpp"
#include "engine/ops/pointwise.hpp"
#include "engine/ops/reduce.hpp"
#include "model/parallel/collectives.hpp"
#include "model/unsloth/rotary.hpp"
#include "model/unsloth/trained_ends.hpp"

namespace vramfit::model {

using namespace engine;

void import_unsloth(const Run& run) { (void)empty(run.session, {1}, DType::float32); }

void begin_load(const Run& run) {
    make_placeholders(run);
    (void)empty(run.session, {1}, DType::int64, Op::to_copy);
}

namespace {

/// models/vision.py offload_input_embedding: tokens are looked up in host memory from now on.
void move_embedding_to_host(const Run& run, Network& network) {
    move_to_host(network.embed.weight);
    run.unsloth->embedding_on_host = true;
}

}  // namespace

void end_load(const Run& run, Network& network) {
    if (run.plan.unsloth.on_card.embedding_leaves_at_load) move_embedding_to_host(run, network);
    run.session.recorder.empty_cache();
    network.buffers.clear();
    network.embed.output_requires_grad = true;  // prepare_model_for_training
}

void end_adapters(const Run& run, Network& network) {
    if (!run.plan.unsloth.on_card.embedding_leaves_with_adapters) return;
    move_embedding_to_host(run, network);
    run.session.recorder.empty_cache();
}

namespace {

/// Whether a row of a matrix is all near zero: largest and smallest of each.
Tensor near_zero(const Tensor& matrix) {
    const Tensor small = compare(Op::le, reduce(matrix, 2, false, matrix.dtype(), Op::amax));
    const Tensor large = compare(Op::ge, reduce(matrix, 2, false, matrix.dtype(), Op::amin));
    return compare(Op::bitwise_and, small, large);
}

/// Tokens that were never trained: of the embedding and of the head.
void look_for_untrained_tokens(const Run& run, const Network& network) {
    Session& session = run.session;
    Tensor in_embedding;
    if (!run.unsloth->embedding_on_host) in_embedding = near_zero(network.embed.weight);
    Tensor in_head = near_zero(network.head.weight);
    (void)nonzero(in_head, 0);
    Tensor either;
    {
        const Tensor none = empty(session, in_head.sizes(), DType::boolean, Op::zeros_like);
        either = compare(Op::bitwise_or, none, in_head);
    }
    in_head.reset();
    (void)empty(session, {1}, DType::boolean, Op::to_copy);
}

}  // namespace

// unsloth_zoo 2026.10.7, gradient_checkpointing.py reset_unsloth_gradient_checkpointing_buffers.
void end_training(const Run& run) {
    if (run.unsloth->staging.first.defined()) run.session.recorder.empty_cache();
}

void prepare_unsloth_trainer(const Run& run, Network& network) {
    const GradMode no_grad(run.session, false);
    // models/rl.py _unsloth_rank_first, around the cut of rows that are put together.
    const bool cuts = run.plan.unsloth.padding_free && !run.plan.unsloth.packing;
    if (run.plan.distributed && cuts) barrier(run.session, network.held_by_group);
    look_for_untrained_tokens(run, network);
    return_embedding(run, network);
    if (!is_gemma(run))
        run.unsloth->frequencies = empty(run.session, {run.spec.head_dim / 2}, DType::float32, Op::to_copy);
    return_head(run, network);
}

}  // namespace vramfit::model
