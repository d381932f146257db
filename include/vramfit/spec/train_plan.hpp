// What is done with the network: load, adapters, training arguments, batch and loop of one run.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "vramfit/base/bytes.hpp"
#include "vramfit/base/dtype.hpp"
#include "vramfit/spec/adapter_kind.hpp"
#include "vramfit/spec/distillation_plan.hpp"
#include "vramfit/spec/load_plan.hpp"
#include "vramfit/spec/loop_kind.hpp"
#include "vramfit/spec/preference_plan.hpp"
#include "vramfit/spec/second_network.hpp"
#include "vramfit/spec/unsloth_plan.hpp"
#include "vramfit/spec/zero_plan.hpp"

namespace vramfit {

struct ModelSpec;

enum class LoraBias : std::uint8_t { none, all, lora_only };

/// `peft.BdLoraConfig`: modules whose names hold one of these words have A or B in blocks.
struct BlockDiagonal {
    std::vector<std::string> of_a, of_b;
    std::int64_t blocks = 1;
    bool strict = true;  ///< match_strict: no module without blocks

    friend bool operator==(const BlockDiagonal&, const BlockDiagonal&) = default;
};

/// `peft.LoraConfig`, or the configuration of another kind of adapter.
struct LoraPlan {
    AdapterKind kind = AdapterKind::lora;
    std::int64_t r = 8;
    double lora_alpha = 8;
    double lora_dropout = 0.0;
    TargetModules target_modules = std::vector<std::string>{"q_proj", "v_proj"};  ///< peft's default for all families
    std::vector<std::string> target_parameters;  ///< of experts: "mlp.experts.gate_up_proj"
    bool use_rslora = false;
    bool use_dora = false;
    LoraBias bias = LoraBias::none;
    std::vector<std::string> modules_to_save;
    std::optional<TargetModules> exclude_modules;
    std::optional<std::vector<std::int64_t>> layers_to_transform;
    std::vector<std::string> layers_pattern;
    std::vector<std::pair<std::string, std::int64_t>> rank_pattern;  ///< regular expression -> rank
    std::vector<std::pair<std::string, double>> alpha_pattern;
    bool fan_in_fan_out = false;
    bool lora_bias = false;
    std::string init_lora_weights =
        "true";  ///< "true", "false", "gaussian", "orthogonal", "pissa", "pissa_niter_4", "olora"
    std::optional<BlockDiagonal> block_diagonal;  ///< LoraConfig.use_bdlora
    bool kasa = false;                            ///< LoraConfig.kasa_config
    AdapterOptions options;

    /// LoRA whose layers are other ones than LoRA's and DoRA's.
    bool is_variant() const { return block_diagonal || kasa; }

    friend bool operator==(const LoraPlan&, const LoraPlan&) = default;
};

/// `transformers.TrainingArguments` (and trl's configs) as far as memory depends on them.
struct TrainingPlan {
    std::int64_t per_device_train_batch_size = 1;
    std::int64_t gradient_accumulation_steps = 1;
    bool gradient_checkpointing = false;
    std::optional<bool> use_reentrant;  ///< gradient_checkpointing_kwargs.use_reentrant
    bool bf16 = false;
    bool fp16 = false;
    std::string optim = "adamw_torch";  ///< "none" = no optimizer, no step
    double max_grad_norm = 1.0;
    bool use_liger_kernel = false;
    bool cut_cross_entropy = false;      ///< axolotl's plugin: the loss without logits
    bool optimizer_in_backward = false;  ///< torchtune: each parameter is updated once its gradient is there
    bool use_cache = false;              ///< transformers 5: Trainer writes it into the model's config
    std::string optim_args;
    double weight_decay = 0;  ///< other than 0: sgd, rmsprop and adagrad of torch copy the gradients that decay
    std::optional<std::int64_t> torch_empty_cache_steps;  ///< Trainer: before the backward pass of each n-th update
    std::optional<std::int64_t> max_length;               ///< trl's SFTConfig: longer rows are cut; absent: not cut
    std::optional<double> router_aux_loss_coef;           ///< trl's SFTConfig, for mixtures; absent: the model's own

    friend bool operator==(const TrainingPlan&, const TrainingPlan&) = default;
};

enum class AttentionMask : std::uint8_t { absent, ones, left_padded, right_padded };
enum class Labels : std::uint8_t { copy, same_tensor, absent };

struct BatchPlan {
    std::int64_t sequence_length = 128;
    AttentionMask attention_mask = AttentionMask::ones;
    Labels labels = Labels::copy;
    PairLengths pairs;  ///< of preference training, whose rows have no other mask and labels
    /// Of the loop unsloth: tokens of each row of the run, over and over; empty: sequence_length.
    std::vector<std::int64_t> lengths;
    bool longest_meet = false;  ///< every batch is of the first of them, cut at sequence_length

    friend bool operator==(const BatchPlan&, const BatchPlan&) = default;
};

enum class LoopLoss : std::uint8_t { model, logits_mean };
enum class OutputLife : std::uint8_t { until_next_forward, until_step_end };
enum class ZeroGrad : std::uint8_t { after_step, before_forward };
enum class BatchMove : std::uint8_t { every_step, once };

/// A forward that runs before step 1.
struct WarmForward {
    bool grad = true;
    std::int64_t sequence_length = 128;

    friend bool operator==(const WarmForward&, const WarmForward&) = default;
};

/// What `*_peak` quantities cover.
struct PeakWindow {
    enum class Kind : std::uint8_t { process, train, steps } kind = Kind::process;
    std::vector<std::int64_t> steps;  ///< counted from 1

    friend bool operator==(const PeakWindow&, const PeakWindow&) = default;
};

// Every batch is recorded, and runs repeat themselves long before.
inline constexpr std::int64_t kMostSteps = 1000;
inline constexpr std::int64_t kMostBatches = 4000;  ///< of all steps, and forwards before them

struct LoopPlan {
    LoopKind kind = LoopKind::trainer;
    std::int64_t steps = 2;
    LoopLoss loss = LoopLoss::model;
    bool grad = true;
    OutputLife output = OutputLife::until_next_forward;
    ZeroGrad zero_grad = ZeroGrad::after_step;
    BatchMove batch = BatchMove::every_step;
    bool input_require_grads = false;
    std::vector<WarmForward> before;
    PeakWindow peak_window;
    std::optional<std::int64_t> phase_step;  ///< default: the last step

    friend bool operator==(const LoopPlan&, const LoopPlan&) = default;
};

/// What Trainer.evaluate is called on, and when; the loss alone is kept of a batch.
struct EvaluationPlan {
    std::int64_t per_device_eval_batch_size = 8;
    bool on_start = false;                        ///< eval_on_start
    std::int64_t every = 0;                       ///< eval_steps, and after the last step; 0: on the start only
    std::optional<std::int64_t> accumulation;     ///< eval_accumulation_steps: losses go to the host after so many
    std::int64_t batches = 2;                     ///< of each evaluation; the second is like all later ones
    std::optional<std::int64_t> sequence_length;  ///< absent: as long as in training
    std::optional<AttentionMask> attention_mask;  ///< absent: as in training

    friend bool operator==(const EvaluationPlan&, const EvaluationPlan&) = default;
};

/// `TrainingArguments` of torch's DistributedDataParallel.
struct DdpPlan {
    std::optional<bool> find_unused_parameters;  ///< absent: what Trainer chooses
    std::optional<std::int64_t> bucket_cap_mb;   ///< absent: 1 MiB for the first bucket, 25 for the others
    std::optional<bool> broadcast_buffers;
    bool static_graph = false;  ///< the first pass that reduces shows which parameters take part

    friend bool operator==(const DdpPlan&, const DdpPlan&) = default;
};

inline constexpr std::int64_t kMostRanks = 1 << 16;

/// When the next unit of the backward pass is gathered ahead: before or after the gradients of the one before it.
enum class BackwardPrefetch : std::uint8_t { none, pre, post };

/// accelerate's `sharding_strategy`: gathered weights end with their forward, or with their backward. The hybrid ones
/// cut over the processes of a node and sum gradients over the nodes.
enum class FsdpStrategy : std::uint8_t { full_shard, shard_grad_op, no_shard, hybrid_shard, hybrid_shard_zero2 };

constexpr bool is_hybrid(FsdpStrategy strategy) {
    return strategy == FsdpStrategy::hybrid_shard || strategy == FsdpStrategy::hybrid_shard_zero2;
}
/// Whether gathered weights stay from the forward to the backward.
constexpr bool keeps_gathered(FsdpStrategy strategy) {
    return strategy == FsdpStrategy::shard_grad_op || strategy == FsdpStrategy::hybrid_shard_zero2;
}

/// accelerate's `auto_wrap_policy`: which modules FSDP gathers by themselves.
enum class WrapPolicy : std::uint8_t {
    transformer_based,  ///< decoder layers
    size_based,         ///< what has so many parameters
    none                ///< no module: the whole network is one unit
};

/// `TrainingArguments.fsdp_config` of version 1, torch's FullyShardedDataParallel: every decoder layer is a unit of its
/// own.
struct Fsdp1Plan {
    FsdpStrategy sharding_strategy = FsdpStrategy::full_shard;
    BackwardPrefetch backward_prefetch = BackwardPrefetch::none;
    bool forward_prefetch = false;
    bool limit_all_gathers = true;
    bool sync_module_states = true;
    bool cpu_ram_efficient_loading = false;  ///< process 0 loads; needs sync_module_states
    bool activation_checkpointing = false;
    bool cpu_offload = false;     ///< parts live in host memory, and so do gradients and states
    bool use_orig_params = true;  ///< the optimizer has the network's parameters; false: one flat one of each unit
    WrapPolicy wrap_policy = WrapPolicy::transformer_based;
    std::vector<std::string> layer_classes =
        {};                           ///< transformer_layer_cls_to_wrap; empty: the model's _no_split_modules
    std::int64_t min_num_params = 0;  ///< of size_based

    friend bool operator==(const Fsdp1Plan&, const Fsdp1Plan&) = default;
};

/// accelerate's `ParallelismConfig(cp_size=…)`: each sequence is cut over so many processes, which pass keys and values
/// around (torch's context_parallel).
struct ContextPlan {
    std::int64_t size = 1;  ///< 1: whole sequences
    bool gathers = true;    ///< cp_comm_strategy: "allgather", else "alltoall"

    friend bool operator==(const ContextPlan&, const ContextPlan&) = default;
};

/// Whose fsdp2_prepare_model cuts the network.
enum class FsdpPreparation : std::uint8_t { accelerate, axolotl };

/// `TrainingArguments.fsdp_config` of version 2, torch's fully_shard: every decoder layer is a group of its own,
/// if it is wrapped.
struct Fsdp2Plan {
    bool reshard_after_forward = true;
    bool activation_checkpointing = false;
    bool cpu_ram_efficient_loading = false;  ///< process 0 loads, and sends parameters one by one
    bool cpu_offload = false;                ///< rows live in host memory, and so do gradients and states
    WrapPolicy wrap_policy = WrapPolicy::transformer_based;
    std::vector<std::string> layer_classes =
        {};                           ///< transformer_layer_cls_to_wrap; empty: the model's _no_split_modules
    std::int64_t min_num_params = 0;  ///< of size_based
    ContextPlan context = {};
    FsdpPreparation prepared_by = FsdpPreparation::accelerate;
    std::int64_t replicas = 1;  ///< accelerate's dp_replicate_size: so many groups of processes have all shards each

    friend bool operator==(const Fsdp2Plan&, const Fsdp2Plan&) = default;
};

/// `from_pretrained(tp_plan="auto")`: linear layers are cut over all processes, which see the same batches.
struct TpPlan {
    friend bool operator==(const TpPlan&, const TpPlan&) = default;
};

enum class PipelineSchedule : std::uint8_t { gpipe, one_f_one_b, interleaved };

/// torch.distributed.pipelining over a network that is split by hand: a process has some of the layers.
struct PipelinePlan {
    PipelineSchedule schedule = PipelineSchedule::one_f_one_b;
    std::int64_t micro_batches = 2;   ///< n_microbatches; the batch size is that of one
    std::int64_t virtual_stages = 1;  ///< in each process, of the interleaved schedule
    bool return_outputs = true;       ///< schedule.step(return_outputs=): the last stage keeps all logits

    friend bool operator==(const PipelinePlan&, const PipelinePlan&) = default;
};

/// How several processes share the work: `distributed.kind`, one struct for each.
using DistributedMethod = std::variant<DdpPlan, ZeroPlan, Fsdp1Plan, Fsdp2Plan, TpPlan, PipelinePlan>;

/// Several processes with one card each; the run is that of one of them.
struct DistributedPlan {
    std::int64_t world_size = 2;
    std::int64_t rank = 0;
    std::int64_t local_world_size = 0;  ///< of a node; 0: all are in one
    bool any_rank = false;              ///< of those that differ: the answer is about the one that needs the most
    bool rank_is_asked = false;         ///< the answer is about `rank` even where others need more while they load
    bool load_on_device = false;  ///< device_map {"": LOCAL_RANK}; false: in host memory, but for quantized weights
    bool load_first = false;      ///< the network is loaded before TrainingArguments, and so DeepSpeed, are known
    DistributedMethod method;

    /// Over how many processes a sequence is cut.
    std::int64_t context_size() const { return as<Fsdp2Plan>() ? as<Fsdp2Plan>()->context.size : 1; }

    /// Processes that differ by more than the size of their shards: stages of a pipeline, places in a ring.
    std::int64_t different_ranks() const { return as<PipelinePlan>() ? world_size : context_size(); }

    /// The first process has the most rows of what FSDP2 cuts, and the others need more while it sends them their rows
    /// (cpu_ram_efficient_loading): where no process is asked about, the first loads as the last does.
    bool loads_as_last() const {
        const Fsdp2Plan* const fsdp = as<Fsdp2Plan>();
        return fsdp && fsdp->cpu_ram_efficient_loading && !rank_is_asked;
    }

    /// Over how many processes FSDP cuts weights, gradients and states.
    std::int64_t shard_size() const {
        if (const Fsdp2Plan* const fsdp = as<Fsdp2Plan>()) return world_size / fsdp->replicas;
        const Fsdp1Plan* const fsdp = as<Fsdp1Plan>();
        return fsdp && is_hybrid(fsdp->sharding_strategy) && local_world_size > 0 ? local_world_size : world_size;
    }

    /// FSDP with cpu_offload: weights, gradients and states are in host memory, and so is the optimizer's step.
    bool shards_on_host() const {
        return (as<Fsdp1Plan>() && as<Fsdp1Plan>()->cpu_offload) || (as<Fsdp2Plan>() && as<Fsdp2Plan>()->cpu_offload);
    }

    /// How many different batches are trained on at the same time.
    std::int64_t replicas() const { return as<TpPlan>() || as<PipelinePlan>() ? 1 : world_size / context_size(); }

    /// The options of a method, or null if it is another one.
    template <class Plan>
    const Plan* as() const {
        return std::get_if<Plan>(&method);
    }
    template <class Plan>
    Plan* as() {
        return std::get_if<Plan>(&method);
    }

    friend bool operator==(const DistributedPlan&, const DistributedPlan&) = default;
};

/// One run: everything but the network, the library versions and the card.
struct TrainPlan {
    std::string name;
    LoadPlan load;
    std::optional<PreparePlan> prepare_kbit;
    std::optional<LoraPlan> peft;
    bool trl_casting_to_bf16 = false;  ///< trl.peft_module_casting_to_bf16
    bool trl_makes_adapters = true;   ///< trl.peft_config: false, its trainer of preferences is given a model with them
    bool sft_makes_adapters = false;  ///< trl.peft_config of the loop sft: they keep the weights' dtype under ZeRO-3
    TrainingPlan training;
    BatchPlan batch;
    LoopPlan loop;
    PreferencePlan preference;                   ///< of the loops of preferences
    std::vector<SecondNetwork> reward_models;    ///< of GRPO and RLOO, beside functions on the host; of PPO one
    std::optional<SecondNetwork> teacher;        ///< of GKD
    std::optional<SecondNetwork> value_model;    ///< of PPO, trained beside the policy
    DistillationPlan distillation;               ///< of GKD
    UnslothPlan unsloth;                         ///< of the loop unsloth
    std::optional<EvaluationPlan> evaluation;    ///< absent: none
    std::optional<DistributedPlan> distributed;  ///< absent: one process

    /// Whether layers are checkpointed, by the Trainer or from the load on.
    bool checkpoints() const {
        return training.gradient_checkpointing || load.gradient_checkpointing || loop.kind == LoopKind::unsloth;
    }

    /// Turns it on or off everywhere: the preparation for k-bit training turns it on too.
    void set_checkpointing(bool on) {
        training.gradient_checkpointing = on;
        if (!on) load.gradient_checkpointing = false;
        if (prepare_kbit) prepare_kbit->use_gradient_checkpointing = on;
    }

    friend bool operator==(const TrainPlan&, const TrainPlan&) = default;
};

/// Tokens of each row of the run, over and over; empty: all are of sequence_length.
std::vector<std::int64_t> row_lengths(const TrainPlan& plan);

/// Of Unsloth's own step; of others none.
TrainedEnds trained_ends(const ModelSpec& spec, const TrainPlan& plan);

/// ZeRO-3: each process holds a piece of each parameter.
inline bool is_zero3(const TrainPlan& plan) {
    const ZeroPlan* const zero = plan.distributed ? plan.distributed->as<ZeroPlan>() : nullptr;
    return zero && zero->stage == 3;
}

/// LLaMA-Factory's own trainers of preferences, which are given a model with adapters.
inline bool by_llama_factory(const TrainPlan& plan) {
    return is_preference(plan.loop.kind) && plan.preference.maker == TrainerMaker::llama_factory;
}

/// ms-swift's own trainers of preferences, which are given a model with adapters too.
inline bool by_ms_swift(const TrainPlan& plan) {
    return is_preference(plan.loop.kind) && plan.preference.maker == TrainerMaker::ms_swift;
}

/// A trainer whose adapters are made before it, of a file format that has its own.
inline bool by_own_trainer(const TrainPlan& plan) { return by_llama_factory(plan) || by_ms_swift(plan); }

/// Reward models and functions of GRPO and RLOO.
inline std::int64_t reward_sources(const TrainPlan& plan) {
    return plan.preference.grpo.reward_functions + static_cast<std::int64_t>(plan.reward_models.size());
}

/// Whether the loop asks a reference about the rows.
inline bool asks_reference(const TrainPlan& plan) {
    if (has_value_model(plan.loop.kind)) return true;
    return generates_rows(plan.loop.kind) ? plan.preference.grpo.has_reference : has_reference(plan.loop.kind);
}

}  // namespace vramfit
