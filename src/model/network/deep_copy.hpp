// copy.deepcopy of a tensor that is no parameter.
#pragma once

#include "engine/tensor.hpp"

namespace vramfit::model {

/// torch/_tensor.py __deepcopy__: the storage is copied, then a small tensor is made to hold it.
inline engine::Tensor deep_copy(const engine::Tensor& t) {
    if (!t.defined()) return {};
    engine::Tensor copy = engine::empty(t.session(), t.sizes(), t.dtype(), engine::Op::deepcopy);
    const engine::Tensor holder = engine::empty(t.session(), {}, t.dtype(), engine::Op::new_empty);
    return copy;
}

}  // namespace vramfit::model
