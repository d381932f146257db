// Tables and paragraphs as pictures.
#include "base/text_table.hpp"

#include "support/catch.hpp"

using namespace vramfit;

namespace {

TextTable fruits() {
    return {{{"fruit", Align::left}, {"pieces", Align::right, 1}, {"colour", Align::left, 2}},
            {{"apple", "7", "red"}, {"pomegranate", "1200"}, {"fig", "30", "violet"}},
            ""};
}

}  // namespace

TEST_CASE("columns are as wide as their widest cell, lines have no blanks at the end") {
    CHECK(text_of(fruits(), 80) ==
          "fruit        pieces  colour\n"
          "apple             7  red\n"
          "pomegranate    1200\n"
          "fig              30  violet\n");
}

TEST_CASE("on a narrow screen columns go, the highest number first, and no cell is cut") {
    CHECK(text_of(fruits(), 27) == text_of(fruits(), 80));
    CHECK(text_of(fruits(), 26) ==
          "fruit        pieces\n"
          "apple             7\n"
          "pomegranate    1200\n"
          "fig              30\n");
    CHECK(text_of(fruits(), 3) == "fruit\napple\npomegranate\nfig\n");
}

TEST_CASE("cells that may be broken are, when nothing is left to go") {
    TextTable table{{{"#", Align::right, 0, 0}, {"set", Align::left, 0, '+'}, {"n", Align::right, 2, 0}}, {}, ""};
    table.rows = {{"1", "apple+fig+pear", "7"}, {"2", "fig", "12"}};
    CHECK(text_of(table, 22) ==
          "#  set              n\n"
          "1  apple+fig+pear   7\n"
          "2  fig             12\n");
    CHECK(text_of(table, 20) ==
          "#  set\n"
          "1  apple+fig+pear\n"
          "2  fig\n");
    CHECK(text_of(table, 14) ==
          "#  set\n"
          "1  apple+fig+\n"
          "   pear\n"
          "2  fig\n");
    CHECK(text_of(table, 4) ==
          "#  set\n"
          "1  apple+\n"
          "   fig+\n"
          "   pear\n"
          "2  fig\n");
}

TEST_CASE("no titles, no head line; an indent for each line") {
    CHECK(text_of({{{"", Align::right}, {""}}, {{"1", "a"}, {"22", "b"}}, "> "}, 80) == ">  1  a\n> 22  b\n");
}

TEST_CASE("a code point is one column wide") {
    CHECK(width_of("Größe") == 5);
    CHECK(text_of({{{""}, {""}}, {{"Größe", "1"}, {"Sizes", "2"}}, ""}, 80) == "Größe  1\nSizes  2\n");
}

TEST_CASE("paragraphs are broken at blanks, words are never cut") {
    CHECK(wrapped("one two three four", 9) == "one two\nthree\nfour\n");
    CHECK(wrapped("one two three four", 14, "note: ", "      ") == "note: one two\n      three\n      four\n");
    CHECK(wrapped({"one", "two", "and three", "four"}, 9, "", "  ", " \\") == "one two \\\n  and three \\\n  four\n");
    CHECK(wrapped("unbreakable", 4) == "unbreakable\n");
    CHECK(wrapped("a  b", 80) == "a b\n");
    CHECK(wrapped("", 80) == "\n");
}

TEST_CASE("digits in groups of three") {
    CHECK(grouped(0) == "0");
    CHECK(grouped(999) == "999");
    CHECK(grouped(1000) == "1,000");
    CHECK(grouped(-123456789) == "-123,456,789");
}
