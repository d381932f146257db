// What is added and copied into views, as PyTorch 2.11.0 does it on a CUDA runtime without a device
// (torch/csrc/autograd/functions/tensor.cpp CopySlices).
#include "engine/backward.hpp"
#include "engine/ops/copy.hpp"
#include "engine/ops/copy_slices.hpp"
#include "engine/ops/pointwise.hpp"
#include "engine/ops/reduce.hpp"
#include "engine/ops/view.hpp"
#include "support/catch.hpp"
#include "unit/engine/recorded.hpp"

using namespace vramfit;
using namespace vramfit::engine;

namespace {

using Sizes = std::vector<std::int64_t>;

}  // namespace

// AsStridedBackward0 makes zeros for the base, CopySlices a copy of the gradient and one of the view's part of it.
TEST_CASE("a sum in a view gives both summands a gradient of their own") {
    Recorded r;
    const Tensor x = r.leaf({4, 8}, DType::float32), other = r.leaf({8, 4}, DType::float32);
    const Tensor base = mul(x, 2);
    const Tensor turned = transpose(base, 0, 1);
    CHECK(r.events([&] { add_into_view(base, turned, other); }).empty());
    const Tensor loss = sum_all(clone(turned));
    CHECK(r.events([&] { backward(loss); }) == Sizes{4, 128, 128, 128, -128, 128, -128, -4});
    CHECK(x.grad().defined());
    CHECK(other.grad().defined());
}

// The part is written back onto itself (ATen/native/Copy.cpp copy_: is_same_data), for which the tape has
// CopyBackwards: zeros for what the part was before.
TEST_CASE("a slice that is added to and put back stands on the tape twice") {
    Recorded r;
    const Tensor x = r.leaf({4, 8}, DType::float32), other = r.leaf({8}, DType::float32);
    const Tensor base = mul(x, 2);
    const Tensor part = slice(base, 0, 1, 4);
    const Sizes forward = r.events([&] {
        add_into_view(base, part, other);
        copy_into_slice(base, part, part);
    });
    CHECK(forward.empty());
    const Tensor loss = sum_all(base);
    CHECK(r.events([&] { backward(loss); }) ==
          Sizes{4, 128, 96, 96, -96, 128, -96, -128, 128, 96, 32, -96, -128, 128, -128, -4});
}

TEST_CASE("nothing is kept of what is written into a view without gradients") {
    Recorded r;
    const Tensor base = empty(r.session, {4, 8}, DType::float32);
    const Tensor part = slice(base, 0, 1, 4);
    CHECK(r.events([&] { add_into_view(base, part, empty(r.session, {8}, DType::float32)); }) == Sizes{32, -32});
    CHECK(!base.requires_grad());
}
