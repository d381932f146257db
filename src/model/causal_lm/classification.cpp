// transformers 5.17 modeling_layers.py GenericForSequenceClassification.forward, loss/loss_utils.py
// ForSequenceClassificationLoss.
#include "model/causal_lm/classification.hpp"

#include <algorithm>
#include <string_view>

#include <fmt/format.h>

#include "engine/ops/copy.hpp"
#include "engine/ops/index.hpp"
#include "engine/ops/loss.hpp"
#include "engine/ops/pointwise.hpp"
#include "engine/ops/view.hpp"
#include "model/causal_lm/mixed_precision.hpp"
#include "model/layers/liger.hpp"
#include "model/network/modules.hpp"
#include "vramfit/base/error.hpp"

namespace vramfit::model {

using namespace engine;

namespace {

/// Where trl casts what is trained beside packed weights to bfloat16, the copy of the head as well, and where peft's
/// copy is in float32 beside weights in 16 bits.
void refuse_other_dtype(const Run& run, const Tensor& hidden, const Tensor& weight) {
    if (mixed_dtype(run.plan.training) || hidden.dtype() == weight.dtype()) return;
    throw Error(
        ErrorKind::invalid, "load.dtype",
        fmt::format("torch stops in the first forward pass: the head is {} and is given {} (expected mat1 and mat2 "
                    "to have the same dtype)",
                    name_of(weight.dtype()), name_of(hidden.dtype())),
        "bf16 mixed precision, or weights in bfloat16");
}

/// (token_indices * non_pad_mask).argmax(-1).
void find_last_tokens(const Tensor& input_ids, PooledScores& out) {
    Session& session = input_ids.session();
    {
        const Tensor differs = compare(Op::ne, input_ids);
        out.mask = to(differs, DType::int32);
    }
    out.indices = empty(session, {input_ids.size(1)}, DType::int32, Op::arange);
    out.places = argmax_last(mul(out.indices, out.mask));
}

}  // namespace

PooledScores pooled_scores(const Run& run, const Network& network, const Batch& batch, const Place& place) {
    return pooled_scores(run, network, batch, {}, place);
}

PooledScores pooled_scores(const Run& run, const Network& network, const Batch& batch, const KvCachePointer& cache,
                           const Place& place) {
    PooledScores out;
    out.hidden = last_hidden_state(run, network, batch, cache, place);
    refuse_other_dtype(run, out.hidden, network.head.weight);
    {
        const Scoped<engine::Module> in_head(run.session.recorder.module, {-1, run.session.recorder.intern("score")});
        out.all = forward(network.head, out.hidden);
    }
    find_last_tokens(batch.input_ids, out);
    out.pooled = index_pairs(out.all, arange(run.session, batch.input_ids.size(0)), out.places);
    return out;
}

Output classified(const Run& run, const Network& network, const Batch& batch, const Place& place) {
    PooledScores scores = pooled_scores(run, network, batch, place);
    const Tensor loss = cross_entropy(view(scores.pooled, {-1, scores.pooled.size(-1)}), view(batch.labels, {-1}));
    for (Tensor* t : {&scores.hidden, &scores.all, &scores.mask, &scores.indices, &scores.places}) t->reset();
    return {loss, scores.pooled, {}};
}

bool classifies_rows(const Run& run) { return run.plan.load.num_labels > 0; }

TrainPlan plan_of_classifier(const TrainPlan& plan) {
    TrainPlan out = plan;
    // peft 0.21 peft_model.py PeftModelForSequenceClassification.__init__.
    if (out.peft) out.peft->modules_to_save.push_back("score");
    return out;
}

ModelSpec spec_of_classifier(const ModelSpec& spec, std::int64_t num_labels) {
    ModelSpec out = spec;
    out.num_labels = num_labels;
    out.tie_word_embeddings = false;
    return out;
}

bool has_no_classifier(const ModelSpec& spec) {
    // models/auto/modeling_auto.py MODEL_FOR_SEQUENCE_CLASSIFICATION_MAPPING_NAMES.
    constexpr std::string_view kNotClassified[] = {"cohere", "cohere2", "granite"};
    return std::find(std::begin(kNotClassified), std::end(kNotClassified), spec.model_type) != std::end(kNotClassified);
}

void refuse_in_classification(const Run& run, std::vector<Problem>& problems) {
    const auto refuse = [&](const char* where, std::string what, const char* hint) {
        problems.push_back({where, std::move(what), hint});
    };
    const TrainPlan& plan = run.plan;
    if (plan.loop.kind != LoopKind::trainer)
        refuse("load.num_labels", "classification of sequences in this loop is not supported", "loop.kind trainer");
    if (has_no_classifier(run.spec))
        refuse("load.num_labels",
               fmt::format("transformers has no class of {} that classifies sequences", run.spec.model_type),
               "another model");
    if (run.spec.recording)
        refuse("load.num_labels", "recorded networks that classify sequences are not supported", "another model");
    if (run.spec.mixture)
        refuse("load.num_labels", "mixtures of experts that classify sequences are not supported", "a dense model");
    if (run.stack.transformers < Version{5, 16, 0})
        refuse("stack", "classification of sequences was compared with transformers 5.16 and later only",
               "the default stack");
    if (plan.peft && plan.peft->kind != AdapterKind::lora)
        refuse("peft.peft_type", "classification of sequences with other adapters than LoRA is not supported", "LORA");
    if (plan.distributed)
        refuse("distributed", "classification of sequences on several GPUs is not supported", "one GPU");
    if (plan.load.resize_token_embeddings || plan.load.upcast || plan.load.cast_after_adapter)
        refuse("load.num_labels",
               "another vocabulary or casts of a network that classifies sequences are not supported",
               "leave resize_token_embeddings, upcast and cast_after_adapter out");
    if (uses_liger(run))
        refuse("training.use_liger_kernel", "Liger's kernels in classification are not supported", "leave it out");
    if (plan.training.cut_cross_entropy)
        refuse("training.cut_cross_entropy", "it has no place where sequences are classified", "leave it out");
}

}  // namespace vramfit::model
