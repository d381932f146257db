// One run, and the batch that goes through the network.
#pragma once

#include <algorithm>
#include <vector>

#include "engine/session.hpp"
#include "model/network/network.hpp"

namespace vramfit::model {

/// The sizes that a question varies: plain numbers, or symbols while a formula is recorded.
struct RunSizes {
    Size batch;
    Size length;
    Size rank;  ///< of adapters without a rank of their own
};

class RecordedModel;
struct Unsloth;
struct EvaluatedNetworks;

/// What routers give while they are asked: logits of each layer with experts, [B * S, E].
struct RouterOutputs {
    std::vector<Tensor> logits = {};
    std::int64_t experts_per_token = 0;

    void add(const Tensor& of_layer, std::int64_t chosen) {
        logits.push_back(of_layer);
        experts_per_token = chosen;
    }
};

/// One run: what the user asked for, and where it is recorded.
struct Run {
    engine::Session& session;
    const ModelSpec& spec;
    const TrainPlan& plan;
    const Stack& stack;
    RunSizes sizes;
    /// transformers 5.17 utils/output_capturing.py: while the decoder runs its routers put their logits here, if they
    /// are asked for; what is recomputed does not.
    mutable RouterOutputs* routers = nullptr;
    /// What the network's forward is, where it was recorded; null: what is written here for its family.
    const RecordedModel* recorded = nullptr;
    /// What Unsloth keeps for the run; null: another loop's.
    mutable Unsloth* unsloth = nullptr;
    /// output_hidden_states: while layers run, what goes from one to the next is put here.
    mutable std::vector<Tensor>* hidden_states = nullptr;
    /// Networks beside the one that is trained; null: none.
    EvaluatedNetworks* evaluated_networks = nullptr;

    /// The same run by another plan, which has to outlive it, and other sizes; nothing of router logits or Unsloth.
    Run with(const TrainPlan& other, const RunSizes& of) const {
        return {session, spec, other, stack, of, nullptr, recorded, nullptr, nullptr, evaluated_networks};
    }
    Run with(const TrainPlan& other) const { return with(other, sizes); }
    Run with(const ModelSpec& other) const {
        return {session, other, plan, stack, sizes, nullptr, recorded, nullptr, nullptr, evaluated_networks};
    }

    /// Of a batch of evaluation: one row for each that is asked for, of pairs two.
    RunSizes sizes_of_evaluation() const {
        const EvaluationPlan& evaluation = *plan.evaluation;
        const std::int64_t rows = evaluation.per_device_eval_batch_size * (has_pairs(plan.loop.kind) ? 2 : 1);
        return {rows, evaluation.sequence_length ? Size(*evaluation.sequence_length) : sizes.length, sizes.rank};
    }

    /// What the attention is told: nothing is dropped in evaluation.
    double attention_dropout() const { return session.training ? spec.attention_dropout : 0.0; }
};

/// Rows of a batch that follow each other and are of one length.
struct RowsAlike {
    Size count;
    Size length;
};

/// Zeros of a mask of rows that are generated, for what packs the other tokens.
struct Missing {
    std::vector<Size> left;   ///< before each prompt that is shorter than the longest one
    Size right = 0;           ///< behind completions, all together
    bool is_unknown = false;  ///< there may be any: none is subtracted, so that nothing needs more

    /// Tokens among the last `keys` of so many places of all rows.
    Size seen(const Size& rows, const Size& keys, const Size& places) const {
        Size out = rows * keys - right;
        for (const Size& zeros : left) out -= std::max<Size>(0, zeros - (places - keys));
        return out;
    }
};

/// A batch on the device.
struct Batch {
    Tensor input_ids;          ///< [B, S] int64
    Tensor attention_mask;     ///< [B, S] int64, or undefined
    Tensor labels;             ///< [B, S] int64, or undefined
    Tensor inputs_embeds;      ///< [B, S, H]: given instead of token ids
    Tensor shift_labels = {};  ///< of a part of a sequence: labels are shifted before it is cut; undefined otherwise
    Tensor position_ids = {};  ///< the same
    Tensor row_lengths = {};   ///< of rows that are put together to one: int32 [rows]
    std::vector<RowsAlike> rows_alike = {};   ///< of those rows
    Size scored = 0;                          ///< of Unsloth's batches: tokens that the one before them predicts
    std::optional<Size> logits_to_keep = {};  ///< the head is asked for so many of the last tokens only
    Tensor kept = {};                         ///< bool [S]: of one row, which tokens these are; undefined: the last
    Tensor completion_mask = {};              ///< of preferences: [2 B, S] int64
    Tensor kl_input_ids = {};                 ///< KTO: each prompt with the completion of another row
    Tensor kl_attention_mask = {};
    Tensor kl_completion_mask = {};
    Tensor kl_labels = {};            ///< of LLaMA-Factory in place of the mask
    Tensor desirable = {};            ///< KTO: [B] bool
    Tensor reference = {};            ///< KTO: precomputed log-probabilities, [B]
    Tensor reference_kl = {};         ///< the same of the KL term
    Tensor reference_chosen = {};     ///< precomputed log-probabilities, [B]
    Tensor reference_rejected = {};   ///< the same
    std::optional<bool> padded = {};  ///< of rows that are generated: whether the mask has zeros; else the plan says so
    Missing missing = {};             ///< of such rows
    std::vector<Tensor> apart = {};   ///< ORPO, CPO: chosen rows, rejected rows and prompts as they come
};

}  // namespace vramfit::model
