// What changed between versions of flash_attn.
#include "vramfit/spec/stack.hpp"

namespace vramfit {

// csrc/flash_attn/flash_api.cpp set_params_splitkv: dprops->multiProcessorCount * 2 since 2.6.
bool Stack::flash_attn_counts_processors_twice() const { return flash_attn >= Version{2, 6, 0}; }

}  // namespace vramfit
