// What layer normalization allocates and keeps, as the CUDA kernels of PyTorch 2.11 do.
#include "engine/ops/layer_norm.hpp"

#include "engine/backward.hpp"
#include "engine/ops/reduce.hpp"
#include "engine/ops/split.hpp"
#include "support/catch.hpp"
#include "unit/engine/recorded.hpp"

using namespace vramfit;
using namespace vramfit::engine;

namespace {

using Sizes = std::vector<std::int64_t>;

/// Events of the backward pass from a gradient of the result's shape.
Sizes backward_events(Recorded& r, const Tensor& out) {
    const Tensor grad = empty(r.session, out.sizes(), out.dtype());
    return r.events([&] { run_backward({&out, 1}, {&grad, 1}); });
}

}  // namespace

TEST_CASE("layer norm gives its result and two statistics for each row, in float32") {
    Recorded r;
    const Tensor x = r.leaf({2, 8, 64}, DType::bfloat16);
    const Tensor weight = r.leaf({64}, DType::bfloat16), bias = r.leaf({64}, DType::bfloat16);
    Tensor out;
    CHECK(r.events([&] { out = layer_norm(x, weight, bias); }) == Sizes{2048, 64, 64});
    CHECK(backward_events(r, out) == Sizes{2048, 128, 128, -64, -64});
}

TEST_CASE("gradients over very many short rows are summed in blocks first") {
    Recorded r;
    const std::int64_t rows = 70 * 1024, blocks = 64 * 1024 / 2 / 2;
    const Tensor x = r.leaf({70, 1024, 64}, DType::float32);
    const Tensor weight = r.leaf({64}, DType::float32), bias = r.leaf({64}, DType::float32);
    const Tensor out = layer_norm(x, weight, bias);
    const Sizes events = backward_events(r, out);
    REQUIRE(events.size() > 5);
    CHECK(events[0] == rows * 64 * 4);
    CHECK(events[3] == std::min(blocks, (rows + 31) / 32) * 64 * 4);
    Recorded old({8, 0}, 108, "hf-2025-07");
    const Tensor y = old.leaf({70, 1024, 64}, DType::float32);
    const Tensor scale = old.leaf({64}, DType::float32), shift = old.leaf({64}, DType::float32);
    const Tensor result = layer_norm(y, scale, shift);
    CHECK(backward_events(old, result) == Sizes{rows * 64 * 4, 256, 256, -rows * 4, -rows * 4});
}

TEST_CASE("parts of a tensor are views, and their gradients are put together") {
    Recorded r;
    const Tensor x = r.leaf({2, 8, 96}, DType::float32);
    std::vector<Tensor> parts;
    CHECK(r.events([&] { parts = chunk(x, 3, -1); }).empty());
    CHECK(parts[1].sizes() == Dims{2, 8, 32});
    // One gradient is given, zeros stand for the two others.
    CHECK(backward_events(r, parts[1]) == Sizes{2048, 2048, 6144, -2048, -2048});
}
