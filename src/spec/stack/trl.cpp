// What changed between versions of trl.
#include "vramfit/spec/stack.hpp"

namespace vramfit {

// trl 0.8.6, trainer/sft_trainer.py, SFTTrainer.__init__ with peft_config; from 0.9 on its arguments are those of
// SFTConfig.
bool Stack::sft_prepares_model() const { return trl < Version{0, 9, 0}; }

// trainer/sft_trainer.py, aux_loss_enabled: what the model's config says in 1.0.0; on in 1.10.0 unless
// router_aux_loss_coef is 0.
bool Stack::sft_balances_experts() const { return trl >= Version{1, 1, 0}; }

// trainer/utils.py add_fused_lm_head as read in 1.15.0 and 1.16.0; SFTTrainer of 1.9.0 has a loss_type "chunked_nll".
bool Stack::sft_scores_in_chunks() const { return trl >= Version{1, 15, 0}; }

// trainer/dpo_trainer.py DPOTrainer as read in 1.16.0.
bool Stack::dpo_scores_in_chunks() const { return trl >= Version{1, 16, 0}; }

// The same as read and traced in 1.9.0 and 1.16.0: KTOTrainer and RewardTrainer too.
bool Stack::preferences_are_known() const { return trl >= Version{1, 16, 0} || (trl.major == 1 && trl.minor == 9); }

// trl 0.24 trainer/bco_trainer.py, 0.29 and 1.9 experimental/bco/bco_trainer.py as read and traced; 1.10 has it no
// more. 0.24 writes model.warnings_issued, which transformers 5.6 has not.
bool Stack::bco_is_known() const {
    if (trl.major == 0 && trl.minor == 24) return transformers < Version{5, 0, 0};
    return (trl.major == 0 && trl.minor == 29) || (trl.major == 1 && trl.minor == 9);
}

// trl 1.9 experimental/ppo/ppo_trainer.py as read and traced; 1.10 has it no more.
bool Stack::ppo_is_known() const { return trl.major == 1 && trl.minor == 9 && transformers >= Version{5, 0, 0}; }

// LLaMA-Factory 0.9.5 train/dpo/trainer.py, kto/trainer.py: losses of trl's own classes, as read and traced in 0.24.0.
bool Stack::llama_factory_preferences_are_known() const { return trl.major == 0 && trl.minor == 24; }

// trl 1.9 and 1.16 trainer/sft_trainer.py SFTTrainer.__init__ (trl issue 6089); 0.29 does not.
bool Stack::sft_leaves_adapters_under_zero3() const { return trl >= Version{1, 9, 0}; }

// ms-swift 4.6 with the releases that its stack has.
bool Stack::ms_swift_preferences_are_known() const { return trl.major == 0 && trl.minor == 29; }

// 1.16.0 loads the reference with the policy's dtype and attention, 1.9.0 with those of from_pretrained's defaults.
bool Stack::reference_is_like_policy() const { return trl >= Version{1, 16, 0}; }

// kernels/logprob_entropy.py, which 1.9.0 has not.
bool Stack::trl_scores_by_kernel() const { return trl >= Version{1, 16, 0}; }

// trainer/grpo_trainer.py and rloo_trainer.py as read and traced in 1.9.0 and 1.16.0.
bool Stack::completions_have_several_ends() const { return trl >= Version{1, 16, 0}; }
bool Stack::grpo_shares_items_among_steps() const { return trl >= Version{1, 16, 0}; }
bool Stack::grpo_weights_divergence() const { return trl >= Version{1, 16, 0}; }
std::int64_t Stack::group_completion_tokens() const { return trl >= Version{1, 16, 0} ? 512 : 256; }
bool Stack::luspo_masks_tokens() const { return trl >= Version{1, 16, 0}; }
bool Stack::grpo_may_have_no_sampled_score() const { return trl >= Version{1, 16, 0}; }
// generation/vllm_client.py VLLMClient.update_named_params, beside update_named_param of 1.9.0.
bool Stack::vllm_client_packs_weights() const { return trl >= Version{1, 16, 0}; }

// 1.16.0 leaves DoRA's magnitudes as they are where adapters over packed weights become bfloat16.
bool Stack::trl_leaves_magnitudes() const { return trl >= Version{1, 16, 0}; }

}  // namespace vramfit
