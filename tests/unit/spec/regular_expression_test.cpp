// Regular expressions of users: what Python refuses is refused, and no pattern takes for ever.
#include "spec/regular_expression.hpp"

#include <fmt/format.h>

#include "support/catch.hpp"
#include "vramfit/base/error.hpp"

using namespace vramfit;

namespace {

bool matches(const char* pattern, const char* name) {
    return std::regex_match(name, regular_expression(pattern, "peft.target_modules"));
}

std::string hint_for(const char* pattern) {
    try {
        (void)regular_expression(pattern, "peft.target_modules");
    } catch (const Error& error) {
        CHECK(error.kind() == ErrorKind::invalid);
        return error.problems().at(0).hint;
    }
    return "";
}

}  // namespace

TEST_CASE("regular expressions match as Python's do") {
    CHECK(matches(R"(.*\.(q|v)_proj)", "model.layers.3.self_attn.v_proj"));
    CHECK(!matches(R"(.*\.(q|v)_proj)", "model.layers.3.self_attn.o_proj"));
    CHECK(matches(R"(.*layers\.([0-9]|1[0-5])\..*?proj)", "model.layers.12.mlp.up_proj"));
    CHECK(matches(R"((?:model\.)?(layers\.\d+\.)+mlp)", "layers.3.mlp"));
    CHECK(matches("[*+]{2}", "*+"));
    CHECK(matches(R"(a\**)", "a**"));
}

TEST_CASE("what is no regular expression is refused") {
    for (const char* pattern : {"a**", "a+*", "a?+", "a*?*", "x{2}{3}"})
        CHECK(hint_for(pattern) == "a repeat (* + ? {}) stands behind another one");
    for (const char* pattern : {"x{1111111111111111111}", "x{1,9999999999}", R"((x)\1111111111111111111)"})
        CHECK(hint_for(pattern) == "the number of a repeat or of a group is too large");
    CHECK(matches("x1111111111111111111", "x1111111111111111111"));
    for (const char* pattern : {"(", "[", "*"}) CHECK(!hint_for(pattern).empty());
}

TEST_CASE("patterns that would backtrack for ever take bounded time") {
    const std::string name = "model.layers.11.self_attn.rotary_emb.inv_freq.original.q_proj";
    CHECK(!matches("(.*.*)*x!", name.c_str()));
    CHECK(!matches(".*.*.*.*.*.*.*.*.*.*.*.*.*.*.*.*!", name.c_str()));
    CHECK(!matches("(([a-z_.]+)+)+!", name.c_str()));
}
