// Softmax: which dtypes are converted inside the kernel, as PyTorch 2.11.0 does it on a CUDA runtime without a device.
#include "engine/ops/softmax.hpp"

#include <algorithm>

#include "engine/autocast.hpp"
#include "engine/backward.hpp"
#include "engine/ops/logsumexp.hpp"
#include "engine/ops/sum.hpp"
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

// cuda/SoftMax.cu softmax_backward_cuda_out: tmp = grad * output reads a broadcast gradient as it is.
TEST_CASE("softmax's backward makes its result and one product, and no copy of a sum's gradient") {
    Recorded r;
    Tensor t = empty(r.session, {20, 1000}, DType::float32);
    t.set_requires_grad(true);
    const Tensor loss = sum_all(sum_over(softmax(t, false), 0, false));
    const Sizes made = r.events([&] { backward(loss); });
    CHECK(std::count(made.begin(), made.end(), 80000) == 2);
}

// ReduceOps.cpp logsumexp_out_impl: the dimension that stays is not one more allocation.
TEST_CASE("logsumexp may keep the last dimension") {
    Recorded r;
    Tensor t = empty(r.session, {20, 1000}, DType::float32);
    t.set_requires_grad(true);
    Tensor without, kept;
    const Sizes plain = r.events([&] { without = logsumexp(t); });
    CHECK(r.events([&] { kept = logsumexp(t, true); }) == plain);
    CHECK(without.sizes() == Dims{20});
    CHECK(kept.sizes() == Dims{20, 1});
    backward(sum_all(kept));
    CHECK(t.grad().sizes() == t.sizes());
}
