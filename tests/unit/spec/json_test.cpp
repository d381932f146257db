// The strict JSON parser: what it takes, what it refuses and where it says so.
#include "spec/json_parse.hpp"

#include "expect.hpp"
#include "support/catch.hpp"

using namespace vramfit;

namespace {

JsonValue parse(const std::string& text) {
    Problems problems("file.json");
    JsonValue value = parse_json(text, problems);
    problems.throw_if_any();
    return value;
}

std::string repeated(const std::string& text, int times) {
    std::string all;
    for (int i = 0; i < times; ++i) all += text;
    return all;
}

}  // namespace

TEST_CASE("good JSON reads back as it was written") {
    const char* const texts[] = {"{}",
                                 "[]",
                                 "null",
                                 "true",
                                 "-9223372036854775808",
                                 "9223372036854775807",
                                 "[1, 2, 3]",
                                 "\"\\u00e4\\n\"",
                                 "{\"a\": {\"b\": [null, 1.5]}}",
                                 "\xEF\xBB\xBF{}"};
    for (const char* text : texts) {
        INFO(text);
        const JsonValue value = parse(text);
        CHECK(to_text(parse(to_text(value))) == to_text(value));
    }
}

TEST_CASE("integers and fractions stay apart") {
    CHECK(parse("4096").kind == JsonValue::Kind::integer);
    CHECK(parse("4096.0").kind == JsonValue::Kind::real);
    CHECK(parse("1e3").kind == JsonValue::Kind::real);
    CHECK(parse("9223372036854775808").kind == JsonValue::Kind::real);
    CHECK(parse("4096.0").shown() == "4096.0");
}

TEST_CASE("bad JSON is refused") {
    const std::string bad[] = {"",
                               " ",
                               "{",
                               "}",
                               "{]",
                               "[1,]",
                               "{\"a\":1,}",
                               "{\"a\" 1}",
                               "{a: 1}",
                               "{'a': 1}",
                               "nul",
                               "NaN",
                               "Infinity",
                               "-Infinity",
                               "[NaN]",
                               "01",
                               "+1",
                               ".5",
                               "1.",
                               "0x10",
                               "1e999",
                               "-1e999",
                               "{} {}",
                               "{} x",
                               "// c\n{}",
                               "{/**/}",
                               "\"a",
                               "\"\t\"",
                               "\"\\x\"",
                               "\"\\ud800\"",
                               std::string("{}\0", 3),
                               std::string("{\"a\":\0 1}", 9),
                               "\"\xff\"",
                               "\"\xc3\"",
                               "\"\xc0\x80\"",
                               "\xFF\xFE{}",
                               "tru",
                               "[1 2]",
                               "{\"a\":}",
                               "[,]",
                               "--1",
                               "\xEF\xBB{}"};
    for (const std::string& text : bad) {
        INFO(text);
        const auto error = error_of([&] { parse(text); });
        REQUIRE(error);
        CHECK(error->kind() == ErrorKind::invalid);
        CHECK(error->problems().front().where.starts_with("file.json"));
    }
}

TEST_CASE("nesting is limited, width is not") {
    CHECK_NOTHROW(parse(repeated("[", kDeepestJson) + repeated("]", kDeepestJson)));
    CHECK(says(error_of([] { parse(repeated("[", kDeepestJson + 1) + repeated("]", kDeepestJson + 1)); }), "file.json",
               "nested deeper than 64"));
    CHECK(error_of([] { parse(repeated("{\"a\":", 100'000)); }));
    CHECK(parse("[" + repeated("1,", 10'000) + "1]").items.size() == 10'001);
}

TEST_CASE("a file beyond 64 MiB is refused before it is parsed") {
    CHECK(says(error_of([] { parse(std::string(kLargestJsonFile + 1, ' ')); }), "file.json", "64 MiB"));
}

TEST_CASE("keys given twice are reported once each, with their place") {
    const auto error =
        error_of([] { parse(R"({"a": 1, "b": [0, {"c": 1, "c": 2, "c": 3}], "a/b": 1, "a/b": 2, "a": 3})"); });
    REQUIRE(error);
    CHECK(error->problems().size() == 3);
    CHECK(says(error, "file.json /a", "twice"));
    CHECK(says(error, "file.json /b/1/c", "twice"));
    CHECK(says(error, "file.json /a~1b", "twice"));
}
