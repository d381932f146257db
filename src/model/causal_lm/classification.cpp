// transformers 5.17 modeling_layers.py GenericForSequenceClassification.forward, GenericForTokenClassification.forward,
// loss/loss_utils.py ForSequenceClassificationLoss, ForTokenClassification.
#include "model/causal_lm/classification.hpp"

#include <algorithm>
#include <memory>
#include <string_view>
#include <variant>

#include <fmt/format.h>

#include "engine/ops/copy.hpp"
#include "engine/ops/dropout.hpp"
#include "engine/ops/index.hpp"
#include "engine/ops/loss.hpp"
#include "engine/ops/pointwise.hpp"
#include "engine/ops/view.hpp"
#include "model/causal_lm/mixed_precision.hpp"
#include "model/layers/liger.hpp"
#include "model/network/modules.hpp"
#include "spec/listed.hpp"
#include "spec/network/rewritten/score.hpp"
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

Tensor scored_by_head(const Run& run, const Network& network, const Tensor& hidden) {
    refuse_other_dtype(run, hidden, network.head.weight);
    const Scoped<engine::Module> in_head(run.session.recorder.module, {-1, run.session.recorder.intern("score")});
    return forward(network.head, hidden);
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
    out.all = scored_by_head(run, network, out.hidden);
    find_last_tokens(batch.input_ids, out);
    out.pooled = index_pairs(out.all, arange(run.session, batch.input_ids.size(0)), out.places);
    return out;
}

namespace {

/// GenericForTokenClassification.forward: the hidden states live as long as what is dropped of them.
Output classified_tokens(const Run& run, const Network& network, const Batch& batch, const Place& place) {
    const Tensor hidden = last_hidden_state(run, network, batch, {}, place);
    const Tensor kept = dropout(hidden, run.spec.classifier_dropout);
    const Tensor logits = scored_by_head(run, network, kept);
    const Tensor flat = to(view(logits, {-1, logits.size(-1)}), DType::float32);
    return {cross_entropy(flat, view(batch.labels, {-1})), logits, {}};
}

/// ForSequenceClassificationLoss.
Tensor loss_of_rows(const Run& run, const Tensor& pooled, const Tensor& labels) {
    if (run.plan.load.num_labels > 1) return cross_entropy(view(pooled, {-1, pooled.size(-1)}), view(labels, {-1}));
    if (!mixed_dtype(run.plan.training) && pooled.dtype() != DType::float32)
        throw Error(ErrorKind::invalid, "load.num_labels",
                    fmt::format("torch stops in the first backward pass: the labels of a regression are float32, the "
                                "scores {} (Found dtype Float but expected {})",
                                name_of(pooled.dtype()), pooled.dtype() == DType::bfloat16 ? "BFloat16" : "Half"),
                    "bf16 mixed precision");
    const auto squeezed = [](const Tensor& t) { return view(t, t.numel() == 1 ? Dims{} : Dims{t.numel()}); };
    return mse_loss(squeezed(pooled), squeezed(labels));
}

}  // namespace

Output classified(const Run& run, const Network& network, const Batch& batch, const Place& place) {
    if (run.plan.load.labels_tokens) return classified_tokens(run, network, batch, place);
    PooledScores scores = pooled_scores(run, network, batch, place);
    const Tensor loss = loss_of_rows(run, scores.pooled, batch.labels);
    for (Tensor* t : {&scores.hidden, &scores.all, &scores.mask, &scores.indices, &scores.places}) t->reset();
    return {loss, scores.pooled, {}};
}

bool classifies_rows(const Run& run) { return run.plan.load.num_labels > 0; }

TrainPlan plan_of_classifier(const TrainPlan& plan) {
    TrainPlan out = plan;
    // peft 0.21 peft_model.py PeftModelForSequenceClassification.__init__, PeftModelForTokenClassification.__init__.
    if (out.peft) out.peft->modules_to_save.push_back("score");
    return out;
}

ModelSpec spec_of_classifier(const ModelSpec& spec, std::int64_t num_labels, bool labels_tokens) {
    ModelSpec out = spec;
    out.num_labels = num_labels;
    out.labels_tokens = labels_tokens;
    out.tie_word_embeddings = false;
    if (spec.recording)
        out.recording =
            std::make_shared<const network::Document>(network::with_score(*spec.recording, num_labels, labels_tokens));
    return out;
}

bool has_no_classifier(const ModelSpec& spec) {
    // models/auto/modeling_auto.py MODEL_FOR_SEQUENCE_CLASSIFICATION_MAPPING_NAMES.
    constexpr std::string_view kNotClassified[] = {"cohere", "cohere2", "granite"};
    return std::find(std::begin(kNotClassified), std::end(kNotClassified), spec.model_type) != std::end(kNotClassified);
}

void refuse_token_classes(const Run& run, std::vector<Problem>& problems) {
    // The families whose class of models/auto/modeling_auto.py MODEL_FOR_TOKEN_CLASSIFICATION_MAPPING_NAMES is
    // GenericForTokenClassification.
    constexpr std::string_view kGeneric[] = {"arcee", "gemma", "gemma2", "glm4",     "llama",   "mistral",   "nemotron",
                                             "phi3",  "qwen2", "qwen3",  "seed_oss", "smollm3", "starcoder2"};
    const TrainPlan& plan = run.plan;
    const auto& recording = run.spec.recording;
    const bool is_known = recording ? network::scores_tokens(*recording) : is_listed(kGeneric, run.spec.model_type);
    if (!is_known)
        problems.push_back({"load.task_type",
                            fmt::format("classification of tokens by {} is not supported, or transformers has no class "
                                        "of it",
                                        run.spec.model_type),
                            "llama, qwen2, qwen3, mistral, gemma, ..."});
    if (plan.peft && !plan.peft->modules_to_save.empty())
        problems.push_back({"peft.modules_to_save",
                            "other modules beside the head are not supported with the task TOKEN_CLS",
                            "leave it out: peft saves the head by itself"});
    const auto* pattern = plan.peft ? std::get_if<std::string>(&plan.peft->target_modules) : nullptr;
    if (pattern && *pattern == "all-linear")
        throw Error(ErrorKind::invalid, "peft.target_modules",
                    "peft stops: with the task TOKEN_CLS all-linear takes the head in too, which is saved whole "
                    "(modules_to_save cannot be applied to modules of type <class 'peft.tuners.lora.layer.Linear'>)",
                    "name the layers");
    // transformers 5.17 quantizers/base.py get_keys_to_not_convert: the last parameter is the head's bias, so that its
    // weight is not left out, of which the checkpoint has none.
    const auto& packed = plan.load.quantization;
    if (!packed) return;
    const auto& skipped = packed->skip_modules;
    if (!packed->skip_modules_given || std::find(skipped.begin(), skipped.end(), "score") == skipped.end())
        throw Error(ErrorKind::invalid, "load.quantization_config.llm_int8_skip_modules",
                    "bitsandbytes stops in the first forward pass: transformers takes the head for one of the layers "
                    "that are quantized, and it has no weight that could be",
                    "[\"score\"]");
}

void refuse_in_classification(const Run& run, std::vector<Problem>& problems) {
    const auto refuse = [&](const char* where, std::string what, const char* hint) {
        problems.push_back({where, std::move(what), hint});
    };
    const TrainPlan& plan = run.plan;
    if (plan.loop.kind != LoopKind::trainer)
        refuse("load.num_labels", "classification of sequences in this loop is not supported", "loop.kind trainer");
    if (plan.load.labels_tokens)
        refuse_token_classes(run, problems);
    else if (has_no_classifier(run.spec))
        refuse("load.num_labels",
               fmt::format("transformers has no class of {} that classifies sequences", run.spec.model_type),
               "another model");
    else if (run.spec.recording && !network::scores_sequences(*run.spec.recording))
        refuse("load.num_labels",
               fmt::format("classification of sequences by {} is not supported, or transformers has no class of it",
                           run.spec.model_type),
               "another model");
    else if (run.spec.recording && network::has_padding_in_text_config(*run.spec.recording))
        refuse("load.num_labels",
               fmt::format("transformers stops: the configuration of {} has no attribute 'pad_token_id'",
                           run.spec.model_type),
               "--loop reward, for which trl gives it one, or its text part");
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
