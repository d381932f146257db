// DeepSpeed: which releases are known.
#include "vramfit/spec/stack.hpp"

namespace vramfit {

// 0.19.8 under transformers 5.17 and accelerate 1.15; a stack that names no DeepSpeed means that one.
bool Stack::zero_is_known() const {
    const bool named = !(deepspeed == Version{});
    return ddp_is_known() && transformers >= Version{5, 17, 0} && (!named || deepspeed >= Version{0, 19, 8});
}

}  // namespace vramfit
