// Preference training: the rows of a batch, and what trl's trainers of preferences are told.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "vramfit/spec/grpo_plan.hpp"
#include "vramfit/spec/ppo_plan.hpp"

namespace vramfit {

/// Rows of preferences beside the length of the longest one (BatchPlan::sequence_length): a prompt with a chosen and a
/// rejected completion; KTO's have one completion, which `chosen_shorter` is about. One number for all rows, or one for
/// each row of a batch; of GRPO and RLOO one for each prompt and one for each row of what is generated at once.
struct PairLengths {
    std::vector<std::int64_t> prompt = {1};          ///< tokens; one needs the most: the rest has log-probabilities
    std::vector<std::int64_t> chosen_shorter = {0};  ///< than the longest row
    std::vector<std::int64_t> rejected_shorter = {0};
    std::vector<bool> desirable;  ///< KTO: the labels of a batch, over and over; none: every second one
    bool padded = false;  ///< GRPO, RLOO, PPO: all batches have rows that are shorter, by as little as needs the most

    friend bool operator==(const PairLengths&, const PairLengths&) = default;
};

/// trl's DPOConfig.loss_type.
enum class PairLoss : std::uint8_t {
    sigmoid,
    hinge,
    ipo,
    nca_pair,
    robust,
    bco_pair,
    sppo_hard,
    apo_zero,
    apo_down,
    discopop,
    sft,
    sigmoid_norm
};

/// trl's KTOConfig.loss_type.
enum class UnpairedLoss : std::uint8_t { kto, apo_zero_unpaired };

/// trl's CPOConfig.loss_type.
enum class ContrastLoss : std::uint8_t { sigmoid, hinge, ipo, simpo };

/// Whose trainer it is (trl.trainer).
enum class TrainerMaker : std::uint8_t {
    trl,
    axolotl,        ///< trl's; its DPOTrainer empties the cache after each training step
    llama_factory,  ///< its own: the stage dpo (with orpo and simpo), kto, rm
    ms_swift        ///< its own: rlhf_type dpo, rm, kto, orpo, cpo and simpo
};

/// Who loads a reference that is a network of its own (trl.ref_model).
enum class ReferenceSource : std::uint8_t {
    trainer,  ///< the trainer
    given,    ///< the script, as the policy and behind it, for the trainer
    unused    ///< the same, but the trainer does not take it: it goes once that is built
};

/// ms-swift 4.6 swift/trainers/arguments.py TrainArgumentsMixin.weight_decay.
inline constexpr double kSwiftWeightDecay = 0.1;

/// trl's configs of preference training as far as memory depends on them.
struct PreferencePlan {
    std::vector<PairLoss> loss_types = {PairLoss::sigmoid};  ///< of DPO
    UnpairedLoss unpaired_loss = UnpairedLoss::kto;          ///< of KTO
    ContrastLoss contrast_loss = ContrastLoss::sigmoid;      ///< of CPO
    bool adds_likelihood = true;                             ///< CPO: cpo_alpha is not 0
    bool centers_rewards = false;                            ///< reward models: center_rewards_coefficient
    bool precompute_ref_log_probs = false;
    bool syncs_reference = false;                           ///< sync_ref_model: the reference follows the policy
    std::optional<std::int64_t> precompute_ref_batch_size;  ///< absent: that of training
    bool disable_dropout = true;
    TrainerMaker maker = TrainerMaker::trl;
    ReferenceSource reference_source = ReferenceSource::trainer;
    bool adds_sft = false;  ///< LLaMA-Factory: pref_ftx is not 0
    GrpoPlan grpo;          ///< of RLOO too
    PpoPlan ppo;

    friend bool operator==(const PreferencePlan&, const PreferencePlan&) = default;
};

}  // namespace vramfit
