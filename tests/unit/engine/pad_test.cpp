// Padding that takes away at one end what it adds at the other (torch 2.11 ATen/native/PadNd.cpp).
#include "engine/ops/pad.hpp"

#include "engine/backward.hpp"
#include "engine/ops/reduce.hpp"
#include "engine/ops/sum.hpp"
#include "support/catch.hpp"
#include "unit/engine/recorded.hpp"

using namespace vramfit;
using namespace vramfit::engine;

// FunctionsManual.cpp constant_pad_nd_backward: the same operator with the places the other way round.
TEST_CASE("rows that are shifted are as large as before, and so is their gradient") {
    Recorded r;
    const Tensor x = r.leaf({2, 3, 8}, DType::float32);
    Tensor shifted;
    CHECK(r.events([&] { shifted = pad_shifted(x); }) == std::vector<std::int64_t>{192});
    CHECK(shifted.sizes() == x.sizes());
    const Tensor loss = sum_all(shifted);
    CHECK(r.events([&] { backward(loss); }) == std::vector<std::int64_t>{4, 192, -4});
    CHECK(x.grad().defined());
}
