// What changed between versions of accelerate.
#include "vramfit/spec/stack.hpp"

namespace vramfit {

// big_modeling.py dispatch_model: is_bnb_quantized up to 1.1; since 1.2 models on one device are moved with `to`.
bool Stack::dispatch_hooks_quantized_models() const { return accelerate < Version{1, 2, 0}; }

}  // namespace vramfit
