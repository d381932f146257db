// The gradient of a look-up with many ids, as PyTorch 2.2.2 (CUDA 12.1) and 2.11.0 (CUDA 13.0) make it on a CUDA
// runtime without a device.
#include "engine/ops/embedding.hpp"

#include "engine/backward.hpp"
#include "engine/ops/embedding_scratch.hpp"
#include "engine/ops/view.hpp"
#include "support/catch.hpp"
#include "unit/engine/recorded.hpp"

using namespace vramfit;
using namespace vramfit::engine;

namespace {

/// The scratch of sort, unique and scan.
struct Scratch {
    std::int64_t sort, unique, scan;
    friend bool operator==(const Scratch&, const Scratch&) = default;
};

std::vector<std::int64_t> events(Recorded& r, std::int64_t ids, const Dims& weight, DType dtype,
                                 DType of_ids = DType::int64) {
    const Tensor grad = empty(r.session, {ids, weight[1]}, dtype);
    Tensor out;
    return r.events([&] { out = sorted_embedding_backward(r.session, grad, ids, weight, 1, of_ids); });
}

Scratch scratch(Capability capability, std::string_view stack, std::int64_t ids, DType of_ids = DType::int64) {
    Recorded r(capability, 108, stack);
    const auto e = events(r, ids, {32000, 64}, DType::bfloat16, of_ids);
    return {e[3], e[10], e[15]};
}

}  // namespace

TEST_CASE("a sorted look-up's gradient allocates what embedding_backward_cuda_kernel does") {
    Recorded r;
    const std::vector<std::int64_t> expected{
        24584, 24584, 24584, 67583, -67583, -24584,  4096000, 24584, 8,      24584,  1279, -1279,  -24584, 24584, 24584,
        1279,  -1279, 8,     27040, 865280, -865280, -27040,  -8,    -24584, -24584, -8,   -24584, -24584, -24584};
    CHECK(events(r, 3073, {32000, 64}, DType::bfloat16) == expected);
}

TEST_CASE("cub's scratch follows its tunings for the card") {
    CHECK(scratch({8, 0}, "hf-2026-11", 16384) == Scratch{284159, 1279, 1535});
    CHECK(scratch({8, 0}, "hf-2026-11", 1000000) == Scratch{16284159, 9983, 1791});
    CHECK(scratch({7, 5}, "hf-2026-11", 1000000) == Scratch{16381439, 51199, 1791});
    CHECK(scratch({8, 9}, "hf-2026-11", 1000000) == Scratch{16284159, 51199, 1791});
    CHECK(scratch({9, 0}, "hf-2026-11", 1000000) == Scratch{16240127, 4607, 1791});
    CHECK(scratch({10, 0}, "hf-2026-11", 1000000) == Scratch{16240127, 5375, 1791});
    CHECK(scratch({12, 0}, "hf-2026-11", 65536) == Scratch{1080831, 1535, 1791});
    CHECK(scratch({8, 0}, "hf-2024-04", 16384) == Scratch{284159, 1023, 1279});
    CHECK(scratch({7, 5}, "hf-2024-04", 1000000) == Scratch{16381439, 25599, 1535});
    CHECK(scratch({9, 0}, "hf-2024-04", 1000000) == Scratch{16284159, 25599, 1535});
}

TEST_CASE("ids of 32 bits take tunings of their own") {
    constexpr DType kShort = DType::int32;
    CHECK(scratch({7, 5}, "hf-2026-11", 2000000, kShort) == Scratch{16182783, 46591, 1023});
    CHECK(scratch({8, 0}, "hf-2026-11", 2000000, kShort) == Scratch{16323071, 12543, 1023});
    CHECK(scratch({8, 9}, "hf-2026-11", 2000000, kShort) == Scratch{16323071, 46591, 1023});
    CHECK(scratch({9, 0}, "hf-2026-11", 2000000, kShort) == Scratch{16323071, 5631, 1023});
    CHECK(scratch({12, 0}, "hf-2026-11", 2000000, kShort) == Scratch{16323071, 5631, 1023});
}

TEST_CASE("up to 3072 ids need no sort") {
    Recorded r;
    const Tensor weight = empty(r.session, {100, 8}, DType::float32);
    weight.set_requires_grad(true);
    const Tensor ids = empty(r.session, {2, 1536}, DType::int64);
    const Tensor out = embedding(weight, ids);
    const Tensor grad = empty(r.session, {2, 1536, 8}, DType::float32);
    const auto e = r.events([&] { run_backward({&out, 1}, {&grad, 1}); });
    CHECK(e == std::vector<std::int64_t>{3200});
}

// ATen/native/Embedding.cpp: indices.reshape(-1).
TEST_CASE("a look-up copies ids that are only expanded") {
    Recorded r;
    const Tensor table = empty(r.session, {10, 4}, DType::float32), ids = empty(r.session, {1, 64}, DType::int64);
    Tensor out;
    CHECK(r.events([&] {
        out = embedding(table, expand(ids, {2, 64}));
    }) == std::vector<std::int64_t>{1024, 2048, -1024});
}
