// LZMA2 streams: one of each kind of chunk, and streams that are none.
#include "base/lzma.hpp"

#include <string>

#include <fmt/format.h>

#include "support/catch.hpp"

namespace vramfit::test {

using namespace std::string_literals;

namespace {

// Python's lzma.compress(text, FORMAT_RAW, filters=[{"id": FILTER_LZMA2, "preset": 6}]).
const std::string kStored = "\x01\x00\x02\x61\x62\x63\x00"s;
const std::string kRepeats = "\xe0\x00\x14\x00\x09\x5d\x00\x30\x98\x88\xaa\x9c\xba\x82\x00\x00\x00"s;

std::string rows_packed() {
    return "\xe0\x0f\x09\x01\x21\x5d\x00\x3d\x88\x89\x66\x94\x8f\x3d\xf2\x90\xa8\x4b\x63\xac\x39\x73\xa3\x74"
           "\xa6\xdf\x65\xc0\x70\x9b\x36\xf9\x96\x61\xa6\x50\xfb\x34\x13\xb2\xc8\xfa\xce\xf0\xb1\xfe\xe2\x0e"
           "\x23\x5e\x40\x6b\x20\x3d\x90\x7b\xf4\x2a\xfa\xe3\x7f\xeb\x71\xbf\xed\x0b\x11\xd3\x7c\x27\x8a\xaa"
           "\xd2\x4c\xf9\x77\x22\xeb\xae\x7a\xae\x21\xe0\x08\x34\x38\x17\xae\x04\x37\xe4\x2c\x3e\x7a\xe2\x69"
           "\xb8\xfa\x45\x4b\xc2\xe6\xc7\x80\x72\x58\xc2\x15\xe6\xe9\xea\xe2\x0f\xab\x3d\xe7\x0c\x5f\x8c\x8e"
           "\xf6\x62\x97\x23\xc0\xaa\xe9\xfe\x68\x20\x22\xd2\x45\xf9\x5c\xe6\xc9\xf5\x51\xf7\xf4\xf6\x39\x30"
           "\x33\x2c\x45\x8d\x57\xbd\x13\x30\xb1\xe7\x40\x26\xf2\x54\x9b\x2f\xdf\x3b\xd3\xd9\x92\xc2\x82\x3f"
           "\xdf\xef\x59\xd4\xaf\x8d\x1b\x75\x34\x51\x1a\x39\xd1\x81\x0d\x21\xd2\x01\x50\x15\x4c\xa3\xb3\xaa"
           "\xb1\x66\x94\xca\x31\xec\x46\x00\x3f\x59\x19\x85\x61\x10\x0d\x67\x40\x4a\x35\x8f\x86\x6e\x2b\x29"
           "\xa8\x63\xe6\x1d\x3f\xd5\xd9\x29\x64\xe2\x99\xfb\xaf\xc0\xd0\x87\x24\x7e\x68\x95\xd4\xae\x1a\xed"
           "\x84\x53\x13\x7f\xd2\x48\x43\xd0\xf1\x75\x06\xee\x2f\x7e\xdb\x87\xa9\x9c\x80\x60\x22\x93\x5a\x05"
           "\x7f\x5e\x10\xc6\x30\x1a\xc4\xd5\x04\x87\x3c\x81\x4c\x50\xaa\x7b\xc5\x85\x45\xf4\x47\xcc\x7c\xb0"
           "\x5f\xbe\x6e\xdd\xb8\x2a\xb3\x00\x00"s;
}

std::string rows() {
    std::string text;
    for (int i = 0; i < 120; ++i) text += fmt::format(R"({{"key":{},"x":"=hidden_size*{}"}},)", i, i % 7);
    return text;
}

}  // namespace

TEST_CASE("an LZMA2 stream of each kind of chunk gives what was compressed") {
    CHECK(unpacked_lzma(kStored, 3) == "abc");
    CHECK(unpacked_lzma(kRepeats, 21) == "abcabcabcabcabcabcabc");
    CHECK(unpacked_lzma(rows_packed(), rows().size()) == rows());
    CHECK(unpacked_lzma(std::string(), 0).empty());
    // As much as is asked for.
    CHECK(unpacked_lzma(kStored, 2) == "ab");
    CHECK(unpacked_lzma(rows_packed(), 200) == rows().substr(0, 200));
}

TEST_CASE("an LZMA2 stream that is damaged is no text") {
    CHECK_THROWS(unpacked_lzma(kStored, 4));               // shorter than it says
    CHECK_THROWS(unpacked_lzma(kStored.substr(0, 5), 3));  // a stored chunk ends early
    CHECK_THROWS(unpacked_lzma(std::string(), 1));
    CHECK_THROWS(unpacked_lzma("\x03\x00\x02\x61\x62\x63\x00"s, 3));                    // a chunk of no kind
    CHECK_THROWS(unpacked_lzma("\x80" + kRepeats.substr(1), 21));                       // goes on with nothing
    CHECK_THROWS(unpacked_lzma(kRepeats.substr(0, 12), 21));                            // ends early
    CHECK_THROWS(unpacked_lzma("\xe0\x00\x14\x00\x09\xff"s + kRepeats.substr(6), 21));  // unknown properties
    CHECK_THROWS(unpacked_lzma("\xe0\x00\x0f"s + kRepeats.substr(3), 16));              // a repeat goes beyond the end
    CHECK_THROWS(unpacked_lzma("\xe0\x00\x14\x00\x09\x5d\x00\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff"s,
                               21));  // repeats what is before it
}

}  // namespace vramfit::test
