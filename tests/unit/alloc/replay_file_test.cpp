// Event files: what is printed, what is reported, what is refused.
#include "vramfit/alloc/replay_file.hpp"

#include <fmt/format.h>

#include <string>

#include "support/catch.hpp"
#include "vramfit/base/error.hpp"

using namespace vramfit;

namespace {

std::string in_vector(const std::string& events) { return fmt::format("vector v\n{}\nend\n", events); }

std::string refusal(const std::string& text) {
    try {
        replay_text(text, "events.txt");
    } catch (const Error& error) {
        CHECK(error.kind() == ErrorKind::invalid);
        CHECK(error.problems().size() == 1);
        CHECK_FALSE(error.problems().front().hint.empty());
        return error.what();
    }
    return "not refused";
}

}  // namespace

TEST_CASE("values are added where none were") {
    const ReplayFileResult result =
        replay_text("# two events\nvector v\ncapacity 67108864\na 1 513 0\r\n\nf 1\npeak\nend\n", "");
    CHECK(result.text ==
          "# two events\nvector v\ncapacity 67108864\n"
          "a 1 513 0 = ok 1024 1024 2097152 513 2096128 1 1 0 0 1 0\n\n"
          "f 1 = ok 0 0 2097152 0 0 1 0 0 0 1 0\n"
          "peak alloc=1024 active=1024 resv=2097152 req=513 isb=2096128\nend\n");
    CHECK(result.summary.events == 2);
    CHECK(result.summary.compared == 0);
}

TEST_CASE("values that differ are reported with their line") {
    const ReplayFileResult result =
        replay_text(in_vector("a 1 513 = ok 512\nf 1 = ok 0 0 2097152 0 0 1 0 0 0 1 0"), "");
    CHECK(result.summary.compared == 2);
    REQUIRE(result.summary.mismatches.size() == 1);
    CHECK(result.summary.mismatches[0].line == 2);
    CHECK(result.summary.mismatches[0].vector == "v");
    CHECK(result.summary.mismatches[0].expected == "ok 512");
    CHECK(result.summary.mismatches[0].actual == "ok 1024 1024 2097152 513 2096128 1 1 0 0 1 0");
}

TEST_CASE("a failed request may be freed, used and asked for again") {
    const std::string text = in_vector("capacity 20971520\na 1 99999999\nrs 1 2\nf 1\na 1 99999999\na 1 5");
    const ReplayFileResult result = replay_text(text, "");
    CHECK(result.text.find("a 1 5 = ok") != std::string::npos);
    CHECK(result.text.find("a 1 99999999 = OOM 0 0 0 0 0 0 0 1 1 0 0") != std::string::npos);
}

TEST_CASE("what cannot be understood is refused with its line") {
    struct Row {
        std::string text, message;
    };
    const Row rows[] = {
        {"a 1 5\n", "events.txt:1: \"a\" outside of a vector"},
        {"vector v\na 1 5\n", "events.txt:3: the text stops inside of vector v"},
        {"vector v\nvector w\n", "events.txt:2: vector v is not closed"},
        {in_vector("alloc 1 5"), "events.txt:2: unknown event \"alloc\""},
        {in_vector("a 1"), "events.txt:2: \"a 1\" has the wrong number of words"},
        {in_vector("a 1 2 3 4"), "has the wrong number of words"},
        {in_vector("a 1 2 3 4 5 6 7"), "has the wrong number of words"},
        {in_vector("a -1 5"), "events.txt:2: id \"-1\" is not a whole number"},
        {in_vector("a 1 -5"), "bytes \"-5\" is not a whole number"},
        {in_vector("a 1 5.5"), "bytes \"5.5\" is not a whole number"},
        {in_vector("a 1 99999999999999999999"), "bytes 99999999999999999999 is too large"},
        {in_vector("a 1 5 5000"), "stream 5000 is too large"},
        {in_vector("a 1 5\na 1 5"), "events.txt:3: id 1 is still allocated"},
        {in_vector("f 1"), "events.txt:2: id 1 is not allocated"},
        {in_vector("a 1 5\nf 1\nf 1"), "events.txt:4: id 1 is not allocated"},
        {in_vector("a 1 5\ncapacity 5"), "events.txt:3: \"capacity\" after the first event"},
        {in_vector("capacity 99999999999999999"), "capacity 99999999999999999 is too large"},
        {in_vector("capacity 5\nforeign 6\nempty"), "events.txt:4: foreign is larger than capacity"},
        {in_vector("fraction 2"), "fraction \"2\" is not a number from 0 to 1"},
        {in_vector("fraction nan"), "fraction \"nan\""},
        {in_vector("tie_independent maybe"), "tie_independent \"maybe\""},
        {in_vector("settings foo:1"), "events.txt:2 foo: unknown setting"},
        {in_vector("cfg expandable_segments:yes"),
         "events.txt:2 expandable_segments: \"yes\" is neither True nor False"},
    };
    for (const Row& row : rows) {
        INFO(row.text);
        const std::string message = refusal(row.text);
        INFO(message);
        CHECK(message.find(row.message) != std::string::npos);
    }
}

TEST_CASE("requests too large for any device are out of memory") {
    const ReplayFileResult result = replay_text(in_vector("a 1 9223372036854775807\na 2 1152921504606846976"), "");
    CHECK(result.text.find("a 1 9223372036854775807 = OOM 0 0 0 0 0 0 0 0 0 0 0") != std::string::npos);
}
