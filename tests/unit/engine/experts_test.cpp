// Operators of mixtures of experts, as PyTorch 2.11.0 allocates on a CUDA runtime without a device.
#include "engine/backward.hpp"
#include "engine/ops/copy.hpp"
#include "engine/ops/cub_scratch.hpp"
#include "engine/ops/grouped_mm.hpp"
#include "engine/ops/index.hpp"
#include "engine/ops/reduce.hpp"
#include "engine/ops/view.hpp"
#include "support/catch.hpp"
#include "unit/engine/recorded.hpp"
#include "vramfit/base/error.hpp"

using namespace vramfit;
using namespace vramfit::engine;

namespace {

using ExpertSizes = std::vector<std::int64_t>;

ExpertSizes sorted(Capability capability, std::int64_t n) {
    Recorded r(capability);
    const Tensor ids = empty(r.session, {n}, DType::int64);
    Picked out;
    return r.events([&] { out = sort(ids); });
}

std::int64_t index_scratch_bytes(Capability capability, std::int64_t n, int bits) {
    Recorded r(capability);
    return sort_scratch(r.session, n, bits).value();
}

}  // namespace

TEST_CASE("few ids are sorted in place, many by cub") {
    CHECK(sorted({8, 0}, 512) == ExpertSizes{4096, 4096, 4096, -4096});
    CHECK(sorted({8, 0}, 4096) == ExpertSizes{32768, 32768, 32768, -32768});
    CHECK(sorted({8, 0}, 4097) == ExpertSizes{32776, 32776, 32776, 84991, -84991, -32776});
    CHECK(sorted({9, 0}, 16384) == ExpertSizes{131072, 131072, 131072, 283135, -283135, -131072});
    CHECK(sorted({7, 5}, 16384) == ExpertSizes{131072, 131072, 131072, 285183, -285183, -131072});
}

TEST_CASE("an index is sorted by as many bits as its largest row has") {
    CHECK(index_scratch_bytes({8, 0}, 2304, 8) == 1);
    CHECK(index_scratch_bytes({8, 0}, 2305, 8) == 3583);
    CHECK(index_scratch_bytes({8, 0}, 3072, 9) == 54783);
    CHECK(index_scratch_bytes({8, 0}, 8192, 7) == 5631);
    CHECK(index_scratch_bytes({8, 0}, 8192, 17) == 140799);
    CHECK(index_scratch_bytes({9, 0}, 70000, 9) == 1141247);
    CHECK(index_scratch_bytes({7, 5}, 70000, 9) == 1150463);
}

// derivatives.yaml index_add: the index and the source are kept, the source's gradient is picked.
TEST_CASE("rows that are added or copied at places have a gradient of their own") {
    Recorded r;
    const Tensor ids = empty(r.session, {6}, DType::int64), rows = r.leaf({6, 8}, DType::bfloat16);
    const Tensor into = zeros(r.session, {4, 8}, DType::bfloat16);
    Tensor out;
    CHECK(r.events([&] { out = index_add(into, ids, rows); }) == ExpertSizes{4 * 8 * 2});
    backward(sum_all(out));
    CHECK(rows.grad().sizes() == rows.sizes());
    const Tensor copied = r.leaf({6, 8}, DType::bfloat16), place = zeros(r.session, {6, 8}, DType::bfloat16);
    CHECK(r.events([&] { index_copy_in_place(place, ids, copied); }).empty());
    backward(sum_all(place));
    CHECK(copied.grad().sizes() == copied.sizes());
}

TEST_CASE("grouped products take scratch on capability 9 in bfloat16 only") {
    for (const auto& [capability, dtype, expected] :
         {std::tuple{Capability{8, 0}, DType::bfloat16, ExpertSizes{1835008}},
          std::tuple{Capability{9, 0}, DType::bfloat16, ExpertSizes{1835008, 240, 67584, -67584, -240}},
          std::tuple{Capability{9, 0}, DType::float16, ExpertSizes{1835008}}}) {
        Recorded r(capability, 132);
        const Tensor input = empty(r.session, {512, 256}, dtype);
        const Tensor weight = empty(r.session, {4, 1792, 256}, dtype);
        const Tensor offs = empty(r.session, {4}, DType::int32);
        Tensor out;
        CHECK(r.events([&] { out = grouped_mm(input, transpose(weight, -2, -1), offs); }) == expected);
    }
}

TEST_CASE("grouped products refuse rows that are no multiple of 16 bytes") {
    Recorded r;
    const Tensor input = empty(r.session, {8, 20}, DType::bfloat16);
    const Tensor weight = empty(r.session, {4, 64, 20}, DType::bfloat16);
    const Tensor offs = empty(r.session, {4}, DType::int32);
    CHECK_THROWS_AS(grouped_mm(input, transpose(weight, -2, -1), offs), Error);
}

TEST_CASE("the gradient of gathered rows is added up through a sort") {
    Recorded r;
    const Tensor rows = empty(r.session, {256, 8}, DType::bfloat16);
    const Tensor ids = empty(r.session, {512}, DType::int64);
    rows.set_requires_grad(true);
    const Tensor out = index_rows(rows, ids);
    Grads in, grads;
    in.resize(1);
    grads.resize(1);
    in[0] = empty(r.session, {512, 8}, DType::bfloat16);
    CHECK(r.events([&] { out->grad_fn->type->backward(*out->grad_fn, in, grads); }) ==
          ExpertSizes{4096, 4096, 4096, -4096, 4096, 4096, 4096, 1, -1, -4096, -4096, -4096, -4096});
}
