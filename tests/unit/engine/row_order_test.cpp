// Rows of scores in order, as PyTorch 2.11.0 allocates on a CUDA runtime without a device.
#include "engine/ops/row_order.hpp"

#include "engine/ops/copy.hpp"
#include "support/catch.hpp"
#include "unit/engine/recorded.hpp"

using namespace vramfit;
using namespace vramfit::engine;

namespace {

using RowSizes = std::vector<std::int64_t>;

/// What is allocated, without the frees.
template <class Order>
RowSizes allocated(Capability capability, int multiprocessors, Dims sizes, Order order) {
    Recorded r(capability, multiprocessors);
    const Tensor scores = empty(r.session, sizes, DType::float32);
    Picked out;
    RowSizes all = r.events([&] { out = order(scores); });
    std::erase_if(all, [](std::int64_t bytes) { return bytes < 0; });
    return all;
}

RowSizes sorted_rows(Capability capability, Dims sizes) {
    return allocated(capability, 108, sizes, [](const Tensor& t) { return sort_rows(t); });
}

RowSizes first_of_rows(Capability capability, int multiprocessors, Dims sizes) {
    return allocated(capability, multiprocessors, sizes, [](const Tensor& t) { return topk_of_rows(t, 20); });
}

}  // namespace

TEST_CASE("short rows are sorted in place, one row by cub, some rows together, many as segments") {
    CHECK(sorted_rows({8, 0}, {200, 3500}) == RowSizes{2800000, 5600000, 28000});
    CHECK(sorted_rows({8, 0}, {1, 4097}) == RowSizes{16388, 32776, 32776, 60415});
    CHECK(sorted_rows({9, 0}, {1, 151936}) == RowSizes{607744, 1215488, 1215488, 1861631});
    CHECK(sorted_rows({8, 0}, {2, 4097}) == RowSizes{32776, 65552, 65552, 65552, 32776, 110591, 5631});
    CHECK(sorted_rows({8, 0}, {8, 128256}) == RowSizes{4104192, 8208384, 8208384, 8208384, 4104192, 12663295, 276991});
    CHECK(sorted_rows({9, 0}, {8, 128256}) == RowSizes{4104192, 8208384, 8208384, 8208384, 4104192, 12516863, 185855});
    CHECK(sorted_rows({7, 5}, {100, 32000}) ==
          RowSizes{12800000, 25600000, 25600000, 25600000, 12800000, 39572991, 1166847});
    CHECK(sorted_rows({8, 0}, {127, 262144}) ==
          RowSizes{133169152, 266338304, 266338304, 266338304, 133169152, 410614271, 8880639});
    CHECK(sorted_rows({8, 0}, {128, 32000}) == RowSizes{16384000, 32768000, 32768000, 49152255});
    CHECK(sorted_rows({10, 0}, {1100, 151936}) == RowSizes{668518400, 1337036800, 1337036800, 2005555455});
}

TEST_CASE("the largest of long rows are picked by many blocks, as many as the GPU has room for") {
    CHECK(first_of_rows({8, 0}, 108, {2, 4097}) == RowSizes{160, 320});
    CHECK(first_of_rows({8, 0}, 108, {2, 32000}) == RowSizes{160, 320, 8, 16, 16, 32768, 2048, 256, 256, 1279, 1279});
    CHECK(first_of_rows({8, 0}, 108, {8, 128256}) ==
          RowSizes{640, 1280, 32, 64, 64, 294912, 8192, 2304, 2304, 1279, 1279});
    CHECK(first_of_rows({9, 0}, 132, {8, 128256}) ==
          RowSizes{640, 1280, 32, 64, 64, 344064, 8192, 2688, 2688, 1279, 1279});
    CHECK(first_of_rows({7, 5}, 40, {8, 128256}) ==
          RowSizes{640, 1280, 32, 64, 64, 122880, 8192, 960, 960, 1279, 1279});
    CHECK(first_of_rows({8, 6}, 82, {100, 32000}) ==
          RowSizes{8000, 16000, 400, 800, 800, 256000, 102400, 2000, 2000, 1279, 1279});
    CHECK(first_of_rows({8, 0}, 108, {30, 12000}) ==
          RowSizes{2400, 4800, 120, 240, 240, 184320, 30720, 1440, 1440, 1279, 1279});
    CHECK(first_of_rows({8, 0}, 108, {200, 3500}) ==
          RowSizes{16000, 32000, 800, 1600, 1600, 307200, 204800, 2400, 2400, 1279, 1279});
    CHECK(first_of_rows({8, 0}, 108, {300, 151936}) ==
          RowSizes{24000, 48000, 1200, 2400, 2400, 1536000, 307200, 12000, 12000, 1279, 1279});
}
