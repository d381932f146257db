// Eager attention.
#include <stdexcept>

#include "model/attention.hpp"

namespace vramfit::model {

Tensor eager_attention(const Run&, const Tensor&, const Tensor&, const Tensor&, const Tensor&) {
    throw std::logic_error("not written yet");
}

}  // namespace vramfit::model
