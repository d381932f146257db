// Rounding of requests and sizes of segments, as tables.
#include "vramfit/alloc/rounding.hpp"

#include "support/catch.hpp"

using namespace vramfit;

namespace {

std::int64_t rounded(std::int64_t bytes, const char* conf = "") { return round_size(bytes, settings_from(conf)); }

}  // namespace

TEST_CASE("requests are rounded up to 512 bytes") {
    CHECK(rounded(1) == 512);
    CHECK(rounded(511) == 512);
    CHECK(rounded(512) == 512);
    CHECK(rounded(513) == 1024);
    CHECK(rounded(kLargestRequest - 1) == kLargestRequest);
}

TEST_CASE("divisions of powers of two") {
    const char* four = "roundup_power2_divisions:4";
    CHECK(rounded(1200, four) == 1536);               // below 4 blocks: as without
    CHECK(rounded(2048, four) == 2048);               // (n > 512 * d is strict)
    CHECK(rounded(2049, four) == 2560);               // steps of 512 between 2048 and 4096
    CHECK(rounded(1 << 20, four) == 1 << 20);         // powers stay
    CHECK(rounded(88'080'384, four) == 100'663'296);  // test_allocator_settings, test/test_cuda.py (2.6.0)
    const char* list = "roundup_power2_divisions:[64:8,128:2,256:2,512:2,1024:1,>:1]";
    CHECK(rounded(88'080'384, list) == 92'274'688);        // the same test
    CHECK(rounded(419'430'400, list) == 536'870'912);      // and again
    CHECK(rounded(3'000'000'001, list) == 3'000'000'512);  // 1 division is none
    CHECK(rounded(33'000'000, list) == 33'554'432);        // slots below the first take its divisions
}

TEST_CASE("segments") {
    struct Row {
        std::int64_t rounded, segment;
    };
    const Row rows[] = {{512, 2 * kMiB},         {kMiB, 2 * kMiB},
                        {kMiB + 512, 20 * kMiB}, {10 * kMiB - 512, 20 * kMiB},
                        {10 * kMiB, 10 * kMiB},  {10 * kMiB + 512, 12 * kMiB},
                        {11 * kMiB, 12 * kMiB}};
    for (const Row& row : rows) CHECK(segment_size(row.rounded, {}) == row.segment);
    CHECK(segment_size(2 * kMiB, settings_from("large_segment_size_mb:40")) == 40 * kMiB);
}
