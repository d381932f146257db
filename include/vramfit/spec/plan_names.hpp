// The words that job files, flags and reports use for the choices of a plan.
#pragma once

#include "vramfit/spec/named.hpp"
#include "vramfit/spec/train_plan.hpp"

namespace vramfit {

/// bnb_4bit_quant_storage: transformers utils/quantization_config.py BitsAndBytesConfig.__init__.
inline constexpr Named<DType> kQuantStorages[] = {{"uint8", DType::uint8},       {"int8", DType::int8},
                                                  {"bfloat16", DType::bfloat16}, {"float16", DType::float16},
                                                  {"float32", DType::float32},   {"float64", DType::float64}};

inline constexpr Named<DType> kLoadDTypes[] = {
    {"bfloat16", DType::bfloat16}, {"float16", DType::float16}, {"float32", DType::float32}};
inline constexpr Named<AttentionImplementation> kAttentionNames[] = {
    {"eager", AttentionImplementation::eager},
    {"sdpa", AttentionImplementation::sdpa},
    {"flash_attention_2", AttentionImplementation::flash_attention_2}};
inline constexpr Named<UpcastParts> kUpcastNames[] = {{"norms", UpcastParts::norms},
                                                      {"norms_and_embeddings", UpcastParts::norms_and_embeddings}};
/// peft's names of what is classified: whether it is tokens.
inline constexpr Named<bool> kTaskNames[] = {{"SEQ_CLS", false}, {"TOKEN_CLS", true}};
inline constexpr Named<SdpaKernel> kSdpaKernelNames[] = {{"flash", SdpaKernel::flash},
                                                         {"efficient", SdpaKernel::efficient},
                                                         {"cudnn", SdpaKernel::cudnn},
                                                         {"math", SdpaKernel::math}};
inline constexpr Named<QuantMethod> kQuantNames[] = {
    {"nf4", QuantMethod::nf4}, {"fp4", QuantMethod::fp4}, {"int8", QuantMethod::int8}};
inline constexpr Named<LoraBias> kLoraBiasNames[] = {
    {"none", LoraBias::none}, {"all", LoraBias::all}, {"lora_only", LoraBias::lora_only}};
inline constexpr Named<AttentionMask> kMaskNames[] = {{"absent", AttentionMask::absent},
                                                      {"ones", AttentionMask::ones},
                                                      {"left_padded", AttentionMask::left_padded},
                                                      {"right_padded", AttentionMask::right_padded}};
inline constexpr Named<Labels> kLabelNames[] = {
    {"copy", Labels::copy}, {"same_tensor", Labels::same_tensor}, {"absent", Labels::absent}};
inline constexpr Named<LoopKind> kLoopNames[] = {{"trainer", LoopKind::trainer},
                                                 {"plain", LoopKind::plain},
                                                 {"sft", LoopKind::sft},
                                                 {"unsloth", LoopKind::unsloth},
                                                 {"dpo", LoopKind::dpo},
                                                 {"reward", LoopKind::reward},
                                                 {"kto", LoopKind::kto},
                                                 {"orpo", LoopKind::orpo},
                                                 {"cpo", LoopKind::cpo},
                                                 {"grpo", LoopKind::grpo},
                                                 {"rloo", LoopKind::rloo},
                                                 {"gkd", LoopKind::gkd},
                                                 {"online_dpo", LoopKind::online_dpo},
                                                 {"prm", LoopKind::prm},
                                                 {"bco", LoopKind::bco},
                                                 {"ppo", LoopKind::ppo}};
inline constexpr Named<RewardScale> kRewardScaleNames[] = {
    {"group", RewardScale::group}, {"batch", RewardScale::batch}, {"none", RewardScale::none}};
inline constexpr Named<GroupLoss> kGroupLossNames[] = {{"dapo", GroupLoss::dapo},   {"grpo", GroupLoss::grpo},
                                                       {"bnpo", GroupLoss::bnpo},   {"dr_grpo", GroupLoss::dr_grpo},
                                                       {"cispo", GroupLoss::cispo}, {"sapo", GroupLoss::sapo},
                                                       {"luspo", GroupLoss::luspo}, {"vespo", GroupLoss::vespo}};
inline constexpr Named<SamplingLevel> kSamplingLevelNames[] = {{"token", SamplingLevel::token},
                                                               {"sequence", SamplingLevel::sequence}};
inline constexpr Named<SamplingCorrectionMode> kSamplingCorrectionNames[] = {
    {"sequence_mask", SamplingCorrectionMode::sequence_mask},
    {"sequence_truncate", SamplingCorrectionMode::sequence_truncate},
    {"token_mask", SamplingCorrectionMode::token_mask},
    {"token_truncate", SamplingCorrectionMode::token_truncate}};
inline constexpr Named<ContrastLoss> kContrastLossNames[] = {{"sigmoid", ContrastLoss::sigmoid},
                                                             {"hinge", ContrastLoss::hinge},
                                                             {"ipo", ContrastLoss::ipo},
                                                             {"simpo", ContrastLoss::simpo}};
inline constexpr Named<UnpairedLoss> kUnpairedLossNames[] = {{"kto", UnpairedLoss::kto},
                                                             {"apo_zero_unpaired", UnpairedLoss::apo_zero_unpaired}};
inline constexpr Named<PairLoss> kPairLossNames[] = {
    {"sigmoid", PairLoss::sigmoid},     {"hinge", PairLoss::hinge},       {"ipo", PairLoss::ipo},
    {"nca_pair", PairLoss::nca_pair},   {"robust", PairLoss::robust},     {"bco_pair", PairLoss::bco_pair},
    {"sppo_hard", PairLoss::sppo_hard}, {"apo_zero", PairLoss::apo_zero}, {"apo_down", PairLoss::apo_down},
    {"discopop", PairLoss::discopop},   {"sft", PairLoss::sft},           {"sigmoid_norm", PairLoss::sigmoid_norm}};
/// OnlineDPOConfig's.
inline constexpr Named<PairLoss> kOnlineLossNames[] = {{"sigmoid", PairLoss::sigmoid}, {"ipo", PairLoss::ipo}};
inline constexpr Named<LoopLoss> kLossNames[] = {{"model", LoopLoss::model}, {"logits_mean", LoopLoss::logits_mean}};
inline constexpr Named<OutputLife> kOutputNames[] = {{"until_next_forward", OutputLife::until_next_forward},
                                                     {"until_step_end", OutputLife::until_step_end}};
inline constexpr Named<ZeroGrad> kZeroGradNames[] = {{"after_step", ZeroGrad::after_step},
                                                     {"before_forward", ZeroGrad::before_forward}};
inline constexpr Named<FsdpStrategy> kFsdpStrategyNames[] = {{"full_shard", FsdpStrategy::full_shard},
                                                             {"shard_grad_op", FsdpStrategy::shard_grad_op},
                                                             {"no_shard", FsdpStrategy::no_shard},
                                                             {"hybrid_shard", FsdpStrategy::hybrid_shard},
                                                             {"hybrid_shard_zero2", FsdpStrategy::hybrid_shard_zero2}};
inline constexpr Named<WrapPolicy> kWrapPolicyNames[] = {{"transformer_based_wrap", WrapPolicy::transformer_based},
                                                         {"size_based_wrap", WrapPolicy::size_based},
                                                         {"no_wrap", WrapPolicy::none}};
inline constexpr Named<BackwardPrefetch> kBackwardPrefetchNames[] = {{"no_prefetch", BackwardPrefetch::none},
                                                                     {"backward_pre", BackwardPrefetch::pre},
                                                                     {"backward_post", BackwardPrefetch::post}};
inline constexpr Named<FsdpPreparation> kFsdpPreparationNames[] = {{"accelerate", FsdpPreparation::accelerate},
                                                                   {"axolotl", FsdpPreparation::axolotl}};
inline constexpr Named<bool> kContextStrategyNames[] = {{"allgather", true}, {"alltoall", false}};
inline constexpr Named<PipelineSchedule> kPipelineNames[] = {{"gpipe", PipelineSchedule::gpipe},
                                                             {"1f1b", PipelineSchedule::one_f_one_b},
                                                             {"interleaved_1f1b", PipelineSchedule::interleaved}};
/// Of a script; left out it is the trainer.
inline constexpr Named<ReferenceSource> kReferenceSourceNames[] = {{"given", ReferenceSource::given},
                                                                   {"unused", ReferenceSource::unused}};
inline constexpr Named<TrainerMaker> kTrainerMakerNames[] = {{"trl", TrainerMaker::trl},
                                                             {"axolotl", TrainerMaker::axolotl},
                                                             {"llama-factory", TrainerMaker::llama_factory},
                                                             {"ms-swift", TrainerMaker::ms_swift}};
inline constexpr Named<BatchMove> kBatchMoveNames[] = {{"every_step", BatchMove::every_step},
                                                       {"once", BatchMove::once}};

/// "eager", "nf4", ...: the word of a choice.
/// A method of several processes: `distributed.kind`, and the name that reports use.
struct MethodName {
    std::string_view kind;
    std::string_view title;
};
inline constexpr MethodName kMethodNames[] = {
    {"ddp", "DistributedDataParallel"}, {"deepspeed", "DeepSpeed ZeRO"},      {"fsdp1", "FSDP1"}, {"fsdp2", "FSDP2"},
    {"tp", "tensor parallelism"},       {"pipeline", "pipeline parallelism"},
};
static_assert(std::size(kMethodNames) == std::variant_size_v<DistributedMethod>);

constexpr const MethodName& name_of(const DistributedMethod& method) { return kMethodNames[method.index()]; }

constexpr std::string_view name_of(AttentionImplementation v) {
    return name_in<AttentionImplementation>(kAttentionNames, v);
}
constexpr std::string_view name_of(FsdpStrategy v) { return name_in<FsdpStrategy>(kFsdpStrategyNames, v); }
constexpr std::string_view name_of(BackwardPrefetch v) { return name_in<BackwardPrefetch>(kBackwardPrefetchNames, v); }
constexpr std::string_view name_of(UpcastParts v) { return name_in<UpcastParts>(kUpcastNames, v); }
constexpr std::string_view name_of(SdpaKernel v) { return name_in<SdpaKernel>(kSdpaKernelNames, v); }
constexpr std::string_view name_of(QuantMethod v) { return name_in<QuantMethod>(kQuantNames, v); }
constexpr std::string_view name_of(LoraBias v) { return name_in<LoraBias>(kLoraBiasNames, v); }
constexpr std::string_view name_of(AttentionMask v) { return name_in<AttentionMask>(kMaskNames, v); }
constexpr std::string_view name_of(Labels v) { return name_in<Labels>(kLabelNames, v); }
constexpr std::string_view name_of(LoopKind v) { return name_in<LoopKind>(kLoopNames, v); }
constexpr std::string_view name_of(LoopLoss v) { return name_in<LoopLoss>(kLossNames, v); }
/// The class of trl's.
constexpr std::string_view trainer_of(LoopKind loop) {
    switch (loop) {
        case LoopKind::dpo: return "DPOTrainer";
        case LoopKind::reward: return "RewardTrainer";
        case LoopKind::kto: return "KTOTrainer";
        case LoopKind::orpo: return "ORPOTrainer";
        case LoopKind::cpo: return "CPOTrainer";
        case LoopKind::grpo: return "GRPOTrainer";
        case LoopKind::rloo: return "RLOOTrainer";
        case LoopKind::gkd: return "GKDTrainer";
        case LoopKind::online_dpo: return "OnlineDPOTrainer";
        case LoopKind::prm: return "PRMTrainer";
        case LoopKind::bco: return "BCOTrainer";
        case LoopKind::ppo: return "PPOTrainer";
        case LoopKind::sft: return "SFTTrainer";
        default: return "Trainer";
    }
}
constexpr std::string_view name_of(UnpairedLoss v) { return name_in<UnpairedLoss>(kUnpairedLossNames, v); }
constexpr std::string_view name_of(SamplingCorrectionMode v) {
    return name_in<SamplingCorrectionMode>(kSamplingCorrectionNames, v);
}
constexpr std::string_view name_of(RewardScale v) { return name_in<RewardScale>(kRewardScaleNames, v); }
constexpr std::string_view name_of(SamplingLevel v) { return name_in<SamplingLevel>(kSamplingLevelNames, v); }
constexpr std::string_view name_of(GroupLoss v) { return name_in<GroupLoss>(kGroupLossNames, v); }
constexpr std::string_view name_of(ContrastLoss v) { return name_in<ContrastLoss>(kContrastLossNames, v); }
constexpr std::string_view name_of(PairLoss v) { return name_in<PairLoss>(kPairLossNames, v); }
constexpr std::string_view name_of(OutputLife v) { return name_in<OutputLife>(kOutputNames, v); }
constexpr std::string_view name_of(ZeroGrad v) { return name_in<ZeroGrad>(kZeroGradNames, v); }
constexpr std::string_view name_of(PipelineSchedule v) { return name_in<PipelineSchedule>(kPipelineNames, v); }
constexpr std::string_view name_of(BatchMove v) { return name_in<BatchMove>(kBatchMoveNames, v); }

}  // namespace vramfit
