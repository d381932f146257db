// The allocator against PyTorch 2.6.0's: every statistic after every event of 75 traces.
#include <fstream>
#include <sstream>
#include <string>

#include "support/catch.hpp"
#include "vramfit/alloc/replay_file.hpp"

using namespace vramfit;

namespace {

std::string vectors() {
    std::ifstream in(VRAMFIT_TEST_DATA_DIR "/allocator_vectors.txt", std::ios::binary);
    REQUIRE(in);
    std::ostringstream text;
    text << in.rdbuf();
    return text.str();
}

std::string first_of(const ReplayFileSummary& summary) {
    if (summary.mismatches.empty()) return "none";
    const ReplayMismatch& first = summary.mismatches.front();
    return first.vector + " line " + std::to_string(first.line) + "\nexpected " + first.expected + "\nactual   " +
           first.actual;
}

}  // namespace

TEST_CASE("every vector gives PyTorch's numbers") {
    const std::string text = vectors();
    const ReplayFileResult result = replay_text(text, "allocator_vectors.txt");
    INFO("first mismatch: " << first_of(result.summary));
    CHECK(result.summary.vectors == 75);
    CHECK(result.summary.events == 5557);
    CHECK(result.summary.compared == 5557 + 75);
    CHECK(result.summary.mismatches.empty());
    CHECK((result.text == text));
}

TEST_CASE("with ties broken by creation of segments only the vector that says so changes") {
    const ReplayFileResult result = replay_text(vectors(), "", {AddressRule::first_fit, TieRule::segment_creation});
    REQUIRE_FALSE(result.summary.mismatches.empty());
    for (const ReplayMismatch& mismatch : result.summary.mismatches)
        CHECK(mismatch.vector == "h26-toy-transformer-tight");
}

TEST_CASE("with rising addresses both tie rules are the same rule") {
    const ReplayFileResult by_address = replay_text(vectors(), "", {AddressRule::rising, TieRule::address});
    const ReplayFileResult by_segment = replay_text(vectors(), "", {AddressRule::rising, TieRule::segment_creation});
    CHECK((by_address.text == by_segment.text));
}
