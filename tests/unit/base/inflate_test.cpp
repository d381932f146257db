// Deflate streams: one of each kind of block, and streams that are none.
#include "base/inflate.hpp"

#include <string>

#include "support/catch.hpp"

namespace vramfit::test {

using namespace std::string_literals;

TEST_CASE("a deflate stream of each kind of block gives what was compressed") {
    // Python's zlib.compressobj(wbits=-15): level 0, strategy Z_FIXED, and level 9 of "abc" and of a text that repeats.
    CHECK(inflated("\x01\x03\x00\xfc\xff"s + "abc", 3) == "abc");
    CHECK(inflated("\x4b\x4c\x4a\x4e\x44\x42\x00"s, 15) == "abcabcabcabcabc");
    std::string squares;
    for (int i = 0; i < 60; ++i) squares += std::to_string(i * i) + ",";
    CHECK(inflated("\x15\x8e\xc1\x01\xc0\x30\x08\x02\x17\xe2\xa1\xc6\x9a\xb8\xff\x62\x3d\x5e\x24\x0a\x78\xa1\x54\x6b"
                   "\x95\xa3\xfa\x74\x46\xbd\x9a\xd6\x4b\x65\x84\xb2\xd0\x6e\xb6\x38\x16\x0b\x9e\xfa\xd0\xb7\x3a\xd5"
                   "\xf8\x49\xe3\xeb\x46\x5f\xeb\xab\xd5\x77\x47\x83\x6f\xd0\xcb\xff\x32\x7f\xec\x17\xdf\x8e\x7b\x09"
                   "\x66\xd0\x90\x49\x55\xba\x33\x8b\xf2\x3c\xbe\xd2\x3e\xf7\xf9\xee\x18\x60\x4c\x72\x21\xca\xd7\x66"
                   "\x80\xb0\xc2\x14\x69\xe2\x8a\x55\x9d\x68\x55\x47\x42\x46\xa2\xc6\xaf\xeb\xd9\xf3\x76\xf1\x1d\x27"
                   "\x0e\xfd\x86\x86\xfc\xd0\x77\x9a\xe6\x1f"s,
                   squares.size()) == squares);
    CHECK(inflated("\x03\x00"s, 0).empty());
}

TEST_CASE("a stream that is damaged is no text") {
    CHECK_THROWS(inflated("\x01\x03\x00\xfc\xff"s + "ab", 3));   // ends early
    CHECK_THROWS(inflated("\x01\x03\x00\xfc\xfe"s + "abc", 3));  // lengths that differ
    CHECK_THROWS(inflated("\x01\x03\x00\xfc\xff"s + "abc", 2));  // longer than it says
    CHECK_THROWS(inflated("\x01\x03\x00\xfc\xff"s + "abc", 4));  // shorter
    CHECK_THROWS(inflated("\x07"s, 1));                          // a block of no kind
    CHECK_THROWS(inflated("\x03\x02\x00\x00"s, 3));              // repeats what is before it
    CHECK_THROWS(inflated(std::string(), 0));
}

}  // namespace vramfit::test
