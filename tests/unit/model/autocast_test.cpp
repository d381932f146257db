// What autocast remembers of weights.
#include "engine/autocast.hpp"

#include "engine/backward.hpp"
#include "engine/ops/reduce.hpp"
#include "engine/ops/sum.hpp"
#include "model/network/modules.hpp"
#include "support/catch.hpp"
#include "unit/engine/recorded.hpp"

using namespace vramfit;
using namespace vramfit::engine;
using vramfit::model::functional_linear;

// torch 2.11 ATen/autocast_mode.cpp cached_cast: the cast of a weight has gradients even if no_grad was around its
// first use (layers that run several times, the first times without gradients).
TEST_CASE("a cast that is remembered from within no_grad has gradients") {
    Recorded r;
    const Tensor weight = r.leaf({8, 8}, DType::float32), x = empty(r.session, {4, 8}, DType::float32);
    const AutocastScope scope(r.session, true, DType::bfloat16);
    {
        const GradMode none(r.session, false);
        CHECK_FALSE(functional_linear(x, weight).requires_grad());
    }
    Tensor out;
    // The input is cast and the result made; the weight's cast is there.
    CHECK(r.events([&] { out = functional_linear(x, weight); }) == std::vector<std::int64_t>{64, 64});
    REQUIRE(out.requires_grad());
    backward(sum_all(out));
    CHECK(weight.grad().defined());
}
