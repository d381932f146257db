// Amounts of memory: what is taken, what is refused.
#include "vramfit/spec/sizes.hpp"

#include "expect.hpp"
#include "support/catch.hpp"

using namespace vramfit;

TEST_CASE("sizes mean what they say") {
    struct Row {
        const char* text;
        std::int64_t bytes;
    };
    const Row rows[] = {{"8GiB", 8 * kGiB},
                        {"24GB", 24'000'000'000},
                        {"24576MiB", 24 * kGiB},
                        {"7.5GiB", 8'053'063'680},
                        {"512B", 512},
                        {"0B", 0},
                        {"1TiB", 1024 * kGiB},
                        {"1tb", 1'000'000'000'000},
                        {"8 GiB", 8 * kGiB},
                        {"8gib", 8 * kGiB},
                        {"23.69GB", 23'690'000'000},
                        {"0.5KiB", 512},
                        {"1.000000001GB", 1'000'000'001},
                        {"8388607TiB", 8'388'607 * (1024 * kGiB)}};
    for (const Row& row : rows) {
        INFO(row.text);
        CHECK(size_from(row.text, "--gpu").count == row.bytes);
        CHECK(looks_like_size(row.text));
    }
}

TEST_CASE("what is no size is refused with a hint") {
    for (const char* text : {"", "24", "GiB", "8 Gib iB", "8G", "8Gi", "-8GiB", "+8GiB", "8,5GiB", "1e3GiB", "8GiBx",
                             "0.3B", "8388608TiB", "99999999999999999GiB", ".GiB", "8..5GiB", "nan", "infGiB", "8 "}) {
        INFO(text);
        const auto error = error_of([&] { size_from(text, "--gpu"); });
        REQUIRE(error);
        CHECK(error->kind() == ErrorKind::invalid);
        CHECK(error->problems().front().where == "--gpu");
        CHECK_FALSE(error->problems().front().hint.empty());
    }
    CHECK(says(error_of([] { size_from("24", "--gpu"); }), "--gpu", "24GiB"));
    CHECK(text_of(Bytes{8 * kGiB}) == "8.00 GiB");
}
