// Softmax: which dtypes are converted inside the kernel, as PyTorch 2.11.0 does it on a CUDA runtime without a device.
#include "engine/ops/softmax.hpp"

#include "engine/autocast.hpp"
#include "support/catch.hpp"
#include "unit/engine/recorded.hpp"

using namespace vramfit;
using namespace vramfit::engine;

namespace {

using Sizes = std::vector<std::int64_t>;

Sizes softmax_of(DType dtype, bool autocast) {
    Recorded r;
    const Tensor t = empty(r.session, {2, 1000}, dtype);
    const AutocastScope scope(r.session, autocast, DType::float16);
    Tensor out;
    return r.events([&] { out = softmax(t, false); });
}

}  // namespace

TEST_CASE("under autocast float16 becomes float32 inside the kernel, bfloat16 before it") {
    CHECK(softmax_of(DType::float16, false) == Sizes{4000});
    CHECK(softmax_of(DType::float16, true) == Sizes{8000});
    CHECK(softmax_of(DType::bfloat16, true) == Sizes{8000, 8000, -8000});
    CHECK(softmax_of(DType::float32, true) == Sizes{8000});
}
