// Scratch of reductions, as PyTorch 2.2.2 and 2.11.0 take it from the allocator on a CUDA runtime without a device.
#include "engine/ops/reduce.hpp"

#include "engine/backward.hpp"
#include "engine/ops/shape.hpp"
#include "engine/ops/sum.hpp"
#include "support/catch.hpp"
#include "unit/engine/recorded.hpp"

using namespace vramfit;
using namespace vramfit::engine;

namespace {

using Sizes = std::vector<std::int64_t>;

struct Card {
    Capability capability;
    int multiprocessors;
};
constexpr Card kA100{{8, 0}, 108}, kT4{{7, 5}, 40}, kRtx4090{{8, 9}, 128};

Sizes sum(const Card& card, DType dtype, const Dims& sizes, DimMask dims, Op op = Op::sum) {
    Recorded r(card.capability, card.multiprocessors);
    const Tensor t = empty(r.session, sizes, dtype);
    Tensor out;
    return r.events([&] { out = reduce(t, dims, true, dtype, op); });
}

}  // namespace

TEST_CASE("a column sum is split over blocks when there are few columns") {
    CHECK(sum(kA100, DType::float32, {128, 64}, 1) == Sizes{256});
    CHECK(sum(kA100, DType::float32, {1000, 768}, 1) == Sizes{3072});
    CHECK(sum(kA100, DType::float32, {3000, 100}, 1) == Sizes{400, 614400, 8, -8, -614400});
    CHECK(sum(kA100, DType::float32, {2048, 2048}, 1) == Sizes{8192, 33554432, 64, -64, -33554432});
    CHECK(sum(kA100, DType::float32, {3001, 131}, 1) == Sizes{524});
    CHECK(sum(kT4, DType::float32, {2048, 2048}, 1) == Sizes{8192, 20971520, 64, -64, -20971520});
    CHECK(sum(kT4, DType::float32, {8192, 896}, 1) == Sizes{3584, 21102592, 28, -28, -21102592});
    CHECK(sum(kRtx4090, DType::float32, {8192, 4096}, 1) == Sizes{16384, 100663296, 128, -128, -100663296});
}

TEST_CASE("a row mean is not split") {
    CHECK(sum(kA100, DType::float32, {2048, 2048}, 2, Op::mean) == Sizes{8192});
    CHECK(sum(kT4, DType::bfloat16, {8192, 4096}, 2, Op::mean) == Sizes{16384});
}

TEST_CASE("logic is reduced in bytes, counts in int64") {
    CHECK(sum(kA100, DType::boolean, {4, 32768}, 3, Op::all) == Sizes{1, 16, 4, -4, -16});
    CHECK(sum(kA100, DType::int64, {4, 32767}, 3) == Sizes{8, 128, 4, -4, -128});
}

TEST_CASE("beyond 32-bit offsets a reduction is done in halves") {
    CHECK(sum(kA100, DType::float32, {600000, 1024}, 1) ==
          Sizes{4096, 153616384, 32, -32, -153616384, 153616384, 32, -32, -153616384});
    CHECK(sum(kA100, DType::float32, {600000, 1024}, 2, Op::mean) == Sizes{2400000});
    CHECK(sum(kA100, DType::bfloat16, {1000, 1200000}, 3) ==
          Sizes{2, 4, 18312, 4, -4, -18312, 18312, 4, -4, -18312, -4});
    CHECK(sum(kA100, DType::bfloat16, {1200000, 1024}, 2) == Sizes{2400000, 4800000, -4800000});
    CHECK(sum(kA100, DType::bfloat16, {262144, 4096}, 1) == Sizes{8192, 536870912, 128, -128, -536870912});
    CHECK(sum(kA100, DType::bfloat16, {2600000, 1024}, 3, Op::linalg_vector_norm) ==
          Sizes{2, 4, 20316, 4, -4, -20316, 20316, 4, -4, -20316, 20316, 4, -4, -20316, 20316, 4, -4, -20316, -4});
}

// cuda/ReduceMomentKernel.cu std_var_kernel_impl; FunctionsManual.cpp std_backward, var_backward.
TEST_CASE("a standard deviation keeps four numbers for each part, and its gradient makes the mean again") {
    CHECK(sum(kA100, DType::float32, {112, 176}, 2, Op::std) == Sizes{448});
    CHECK(sum(kA100, DType::bfloat16, {64, 65536}, 2, Op::std) == Sizes{128});
    CHECK(sum(kA100, DType::float32, {1, 1000000}, 2, Op::std) == Sizes{4, 1968, 4, -4, -1968});
    CHECK(sum(kA100, DType::bfloat16, {1, 1000000}, 2, Op::std) == Sizes{2, 1968, 4, -4, -1968});
    Recorded r;
    Tensor t = empty(r.session, {112, 176}, DType::float32);
    t.set_requires_grad(true);
    const Tensor deviation = std_last(t);
    const Tensor loss = sum_all(deviation);
    CHECK(r.events([&] { backward(loss); }) ==
          Sizes{4, 448, 448, 112, -112, -448, 448, 78848, 448, 78848, -448, -78848, -448, -448, -4});
}

// FunctionsManual.cpp norm_backward of order 1: sgn(self) * grad; both self and the result are kept.
TEST_CASE("a norm of order 1 keeps its dimension, and under autocast is float32") {
    Recorded r;
    const Tensor t = r.leaf({64, 4}, DType::bfloat16);
    Tensor norm;
    CHECK(r.events([&] { norm = absolute_norm_last(t); }) == Sizes{128});
    CHECK(norm.sizes() == Dims{64, 1});
    const Tensor loss = sum_all(norm);
    CHECK(r.events([&] { backward(loss); }) == Sizes{2, 512, 512, -512, -2});
    r.session.autocast.enabled = true;
    CHECK(absolute_norm_last(t).dtype() == DType::float32);
}

// FunctionsManual.cpp mean_backward, repeat_backward.
TEST_CASE("means and repeats over a first dimension have a gradient in one piece") {
    Recorded r;
    Tensor t = empty(r.session, {4, 112, 176}, DType::float32), one = empty(r.session, {112, 176}, DType::float32);
    t.set_requires_grad(true);
    one.set_requires_grad(true);
    const Tensor mean = sum_all(mean_over(t, 0, false)), repeated = sum_all(repeat_before(one, 4));
    CHECK(r.events([&] { backward(mean); }) == Sizes{4, 315392, -4});
    CHECK(r.events([&] { backward(repeated); }) == Sizes{4, 78848, -4});
}
