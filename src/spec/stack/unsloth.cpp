// What changed between versions of unsloth and unsloth_zoo, which are released together.
#include "vramfit/spec/stack.hpp"

namespace vramfit {

// As read and traced in 2026.10.7 and 2026.10.9.
bool Stack::unsloth_is_known() const {
    return unsloth == Version{} || unsloth == Version{2026, 10, 7} || unsloth == Version{2026, 10, 9};
}

// unsloth_zoo 2026.10.9 fused_losses/cross_entropy_loss.py unsloth_fused_ce_loss goes to fused_losses/fused_linear.py;
// 2026.10.7 compiles its loss.
bool Stack::unsloth_scores_by_kernels() const { return unsloth >= Version{2026, 10, 9}; }

// unsloth 2026.10.9 kernels/fast_lora.py _matmul_lora_ext, LoRA_MLP (ctx.global_buffer).
bool Stack::unsloth_drops_without_scratch() const { return unsloth >= Version{2026, 10, 9}; }

}  // namespace vramfit
