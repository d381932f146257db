// Networks that classify: AutoModelForSequenceClassification, AutoModelForTokenClassification.
#pragma once

#include <cstdint>
#include <vector>

#include "model/causal_lm/causal_lm.hpp"
#include "vramfit/base/error.hpp"

namespace vramfit::model {

/// The scores of each row's last token that is no padding, pooled -- [B, num_labels], with what the forward holds
/// beside them until it returns.
struct PooledScores {
    Tensor hidden;                 ///< [B, S, H]
    Tensor all;                    ///< [B, S, num_labels]
    Tensor mask, indices, places;  ///< of the last tokens
    Tensor pooled;
};

/// GenericForSequenceClassification.forward without its loss. Throws Error where the head's dtype is another one.
PooledScores pooled_scores(const Run& run, const Network& network, const Batch& batch, const Place& place);

/// The same of a network that Trainer has not prepared, whose config may ask for a cache.
PooledScores pooled_scores(const Run& run, const Network& network, const Batch& batch, const KvCachePointer& cache,
                           const Place& place);

/// The same with the loss of labels -- [B]; where tokens are classified of all scores and of labels -- [B, S].
Output classified(const Run& run, const Network& network, const Batch& batch, const Place& place);

/// Whether Trainer trains such a network: load.num_labels.
bool classifies_rows(const Run& run);

/// What peft and transformers make of the plan and of the network then.
TrainPlan plan_of_classifier(const TrainPlan& plan);
ModelSpec spec_of_classifier(const ModelSpec& spec, std::int64_t num_labels, bool labels_tokens);

/// Families without a class that classifies sequences.
bool has_no_classifier(const ModelSpec& spec);

/// What classification of tokens was not compared with, and what the libraries stop at.
void refuse_token_classes(const Run& run, std::vector<Problem>& problems);

/// What it was not compared with.
void refuse_in_classification(const Run& run, std::vector<Problem>& problems);

}  // namespace vramfit::model
