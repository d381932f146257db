// What changed between versions of trl.
#include "vramfit/spec/stack.hpp"

namespace vramfit {

// trl 0.8.6, trainer/sft_trainer.py, SFTTrainer.__init__ with peft_config; from 0.9 on its arguments are those of
// SFTConfig.
bool Stack::sft_prepares_model() const { return trl < Version{0, 9, 0}; }

// trainer/utils.py add_fused_lm_head as read in 1.16.0; earlier releases have not been read.
bool Stack::sft_scores_in_chunks() const { return trl >= Version{1, 16, 0}; }

}  // namespace vramfit
