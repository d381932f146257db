// Text from files, made safe to print.
#include "base/printable.hpp"

#include "support/catch.hpp"

using namespace vramfit;

TEST_CASE("control characters are written out, other text stays") {
    CHECK(printable("plain \xC3\xA4 \xE2\x82\xAC", 80) == "plain \xC3\xA4 \xE2\x82\xAC");
    CHECK(printable("a\x1b[31mb\n\t\x7f", 80) == "a\\x1b[31mb\\x0a\\x09\\x7f");
    CHECK(printable("\xC2\x9B", 80) == "\\x9b");
    CHECK(printable("\x9B", 80) == "\x9B");
    CHECK(printable(std::string_view("\0", 1), 80) == "\\x00");
}

TEST_CASE("long text is cut between characters") {
    CHECK(printable("abcdef", 6) == "abcdef");
    CHECK(printable("abcdefg", 6) == "abcdef...");
    CHECK(printable("abcde\xC3\xA4", 6) == "abcde...");
    CHECK(printable("\xC3\xA4", 1) == "...");
}
