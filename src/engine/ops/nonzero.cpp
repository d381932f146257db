// torch 2.11 ATen/native/cuda/Nonzero.cu nonzero_cuda_out_impl.
#include "engine/ops/nonzero.hpp"

#include "engine/session.hpp"

namespace vramfit::engine {

// cub sums and selects with a scratch each; the one of a single tile is a byte.
void nonzero(const Tensor& mask) {
    Session& session = mask.session();
    const Tensor count = empty(session, {1}, DType::int32, Op::nonzero);
    { const Tensor sum = empty(session, {1}, DType::uint8, Op::nonzero); }
    const Tensor select = empty(session, {1023}, DType::uint8, Op::nonzero);
}

}  // namespace vramfit::engine
