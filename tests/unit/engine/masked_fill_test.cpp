// masked_fill out of place, as PyTorch 2.11.0 gives it.
#include "engine/ops/pointwise.hpp"
#include "engine/ops/view.hpp"
#include "support/catch.hpp"
#include "unit/engine/recorded.hpp"

using namespace vramfit;
using namespace vramfit::engine;

TEST_CASE("masked_fill gives a dense tensor, whatever the strides of what it fills") {
    Recorded r({8, 0}, 108);
    const Tensor mask = empty(r.session, {4, 4}, DType::boolean);
    const Tensor repeated = expand(unsqueeze(empty(r.session, {2, 3, 4}, DType::float32), 3), {2, 3, 4, 4});
    const Tensor turned = transpose(empty(r.session, {4, 3, 4}, DType::float32), 0, 2);
    CHECK(!repeated.is_contiguous());
    CHECK(!turned.is_contiguous());
    CHECK(masked_fill(repeated, mask).is_contiguous());
    CHECK(masked_fill(turned, empty(r.session, {4}, DType::boolean)).is_contiguous());
}
