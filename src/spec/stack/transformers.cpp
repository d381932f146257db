// What changed between versions of transformers.
#include "vramfit/spec/stack.hpp"

namespace vramfit {

// modeling_utils.py gradient_checkpointing_enable: {"use_reentrant": True} up to 4.57, False from 5.0 on.
bool Stack::checkpointing_is_reentrant() const { return transformers < Version{5, 0, 0}; }

}  // namespace vramfit
