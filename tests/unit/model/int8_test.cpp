// LLM.int8(): what quantization keeps, what forward and backward of a layer take.
#include "model/quantizers/int8.hpp"

#include <numeric>

#include "engine/backward.hpp"
#include "recording.hpp"
#include "support/catch.hpp"

using namespace recording;
using namespace vramfit::model;

namespace {

constexpr std::int64_t kIn = 512, kOut = 128, kRows = 32;

Linear layer_on(Recording& r, double threshold) {
    Linear layer;
    layer.in = kIn;
    layer.out = kOut;
    layer.in_8bit = quantize_8bit(r.session, {kOut, kIn}, threshold);
    return layer;
}

}  // namespace

TEST_CASE("an 8-bit weight: a float16 copy, then scales and integers") {
    Recording r;
    const State8bit state = quantize_8bit(r.session, {kOut, kIn}, 6.0);
    CHECK(r.events() == Events{kOut * kIn * 2, kOut * 4, kOut * kIn, -kOut * kIn * 2});
    CHECK(state.packed.dtype() == DType::int8);
}

TEST_CASE("an 8-bit product without a search for outliers") {
    Recording r;
    const Linear layer = layer_on(r, 0.0);
    const Tensor x = empty(r.session, {2, 16, kIn}, DType::float32);
    r.events();
    const GradMode no_grad(r.session, false);
    linear_8bit(layer, x);
    // x in float16; its scales and integers; the product in int32, float16, float32
    const std::int64_t product = kRows * kOut;
    CHECK(r.events() == Events{kRows * kIn * 2, kRows * 4, kRows * kIn, -kRows * kIn * 2, product * 4, product * 2,
                               product * 4, -product * 2, -product * 4, -kRows * 4, -kRows * kIn, -product * 4});
}

TEST_CASE("the search for outliers: magnitudes, comparison, whether there is any, a number for what is cleared") {
    Recording r;
    const Linear layer = layer_on(r, 6.0);
    const Tensor x = empty(r.session, {1, kRows, kIn}, DType::float16);
    r.events();
    const GradMode no_grad(r.session, false);
    linear_8bit(layer, x);
    const std::int64_t product = kRows * kOut;
    CHECK(r.events() == Events{kRows * 4, kRows * kIn, kRows * kIn * 2, kRows * kIn, -kRows * kIn * 2, 1, -1, 1, -1,
                               -kRows * kIn, product * 4, product * 2, -product * 4, -kRows * 4, -kRows * kIn,
                               -product * 2});
}

TEST_CASE("backward unpacks the weight in the input's dtype") {
    Recording r;
    const Linear layer = layer_on(r, 0.0);
    const Tensor x = empty(r.session, {1, kRows, kIn}, DType::float32);
    x.set_requires_grad(true);
    const Tensor out = linear_8bit(layer, x);
    const Tensor grad = empty(r.session, out.sizes(), DType::float32);
    r.events();
    run_backward({&out, 1}, {&grad, 1});
    // the weight, its scales, the gradient with the workspace
    CHECK(r.events() == Events{kOut * kIn * 4, kOut * 4, -kOut * 4, kRows * kIn * 4, 8519680, -kOut * kIn * 4});
}

TEST_CASE("layers of bitsandbytes 0.43: quantized by row and by column, turned at the first product, kept turned") {
    Recording r("hf-2024-04");
    constexpr std::int64_t kWidth = 100;  // 4 columns of tiles
    Linear layer;
    layer.in = kWidth;
    layer.out = kOut;
    layer.in_8bit = quantize_8bit(r.session, {kOut, kWidth}, 0.0);
    const std::int64_t weight = kOut * kWidth;
    CHECK(r.events() == Events{weight * 2, kOut * 4, kWidth * 4, weight, weight, -weight, -kWidth * 4, -weight * 2});
    const Tensor x = empty(r.session, {1, kRows, kWidth}, DType::float16);
    const GradMode no_grad(r.session, false);
    const std::int64_t a = kRows * kWidth, product = kRows * kOut;
    const auto events_of = [&](bool first) {
        r.events();
        linear_8bit(layer, x);
        Events wanted{kRows * 4, kWidth * 4, a, a};
        if (first) wanted.push_back(kOut * 128);
        for (const std::int64_t e : {kRows * 128, product * 4, product * 2, kRows * 4, kOut * 4}) wanted.push_back(e);
        Events got = r.events();
        CHECK(std::vector(got.begin(), got.begin() + static_cast<std::ptrdiff_t>(wanted.size())) == wanted);
        return std::accumulate(got.begin(), got.end(), std::int64_t{0});
    };
    CHECK(events_of(true) == kOut * 128 - weight);
    CHECK(events_of(false) == 0);
}
