// What changed between versions of trl.
#include "vramfit/spec/stack.hpp"

namespace vramfit {

// trl 0.8.6, trainer/sft_trainer.py, SFTTrainer.__init__ with peft_config; from 0.9 on its arguments are those of
// SFTConfig.
bool Stack::sft_prepares_model() const { return trl < Version{0, 9, 0}; }

}  // namespace vramfit
