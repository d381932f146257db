// Real numbers written as text: the same ones by whatever function of the standard library reads them.
#include "base/number_text.hpp"

#include <cmath>

#include "support/catch.hpp"

namespace vramfit::test {

TEST_CASE("real_from: all of the text is the number") {
    CHECK(real_from("0.5") == 0.5);
    CHECK(real_from("-1") == -1.0);
    CHECK(real_from(".5") == 0.5);
    CHECK(real_from("5.") == 5.0);
    CHECK(real_from("1e5") == 1e5);
    CHECK(real_from("1e-310") == 1e-310);
    CHECK(std::isinf(real_from("inf").value_or(0)));
    CHECK(std::isnan(real_from("nan").value_or(0)));
    for (const char* none : {"", "-", "+1", " 1", "1 ", "1e", "0x10", "0X1p2", "1,5", "1e400", "1e-400", "-+1", "--1"})
        CHECK_FALSE(real_from(none));
}

}  // namespace vramfit::test
