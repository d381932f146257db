// The search for the most rows, against a known answer.
#include "predict/most_rows.hpp"

#include "support/catch.hpp"

namespace vramfit {

TEST_CASE("the most rows are found from everywhere, with few questions") {
    for (const std::int64_t answer : {0, 1, 2, 3, 7, 8, 9, 200, 65535})
        for (const std::int64_t start : {1, 2, 3, 8, 199, 200, 201, 5000}) {
            CAPTURE(answer, start);
            std::int64_t asked = 0;
            const std::int64_t found = most_rows(start, [&](std::int64_t rows) {
                ++asked;
                REQUIRE(rows >= 1);
                return rows <= answer;
            });
            CHECK(found == answer);
            std::int64_t digits = 1;
            for (std::int64_t away = answer > start ? answer - start : start - answer; away > 0; away /= 2) ++digits;
            CHECK(asked <= 2 * digits);
        }
    CHECK(most_rows(1, [](std::int64_t) { return true; }) == 65536);
}

}  // namespace vramfit
