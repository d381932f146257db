// Files and functions stay short, and the counter that says so is right.
#include <fmt/format.h>

#include "support/catch.hpp"
#include "tree/lengths.hpp"
#include "tree/source.hpp"

namespace {

constexpr std::size_t kLongestFile = 400;
constexpr std::size_t kLongestFunction = 80;

std::vector<std::size_t> lengths(std::string_view text) {
    std::vector<std::size_t> all;
    for (const tree::Function& function : tree::functions_in(text)) {
        all.push_back(function.last_line - function.first_line + 1);
    }
    return all;
}

}  // namespace

TEST_CASE("the counter finds functions and nothing else") {
    using Lengths = std::vector<std::size_t>;
    CHECK(lengths("int f() {\n  return 1;\n}\n") == Lengths{3});
    CHECK(lengths("namespace a {\nstruct S {\n  int x = 0;\n  int get() const { return x; }\n};\n}\n") == Lengths{1});
    CHECK(lengths("const int table[] = {\n  1,\n  2,\n};\n") == Lengths{});
    CHECK(lengths("const Row rows[] = {\n  {f(1), Row{2}},\n};\n") == Lengths{});
    CHECK(lengths("S::S(int a)\n    : a_{a}, b_(a) {\n  go();\n}\nvoid g() {}\n") == Lengths{4, 1});
    CHECK(lengths("TEST_CASE(\"}{\") {\n  if (x) {\n    y = '{';\n  }\n}\n") == Lengths{5});
    CHECK(lengths("auto f(int n = 3) -> std::vector<int>\n{\n  return {n};\n}\n") == Lengths{4});
    CHECK(lengths("const auto f = [](int x) {\n  return x; // }\n};\n") == Lengths{3});
    CHECK(lengths("/* { */\nbool operator==(S a, S b) noexcept {\n  return 1'000 == a;\n}\n") == Lengths{3});
    CHECK(lengths("#define X(a) {\nauto text = R\"(void f() {)\";\nvoid f() { g(); }\n") == Lengths{1});
    CHECK(lengths("enum class E { a, b };\nstruct T : Base { T() = default; };\n") == Lengths{});
}

TEST_CASE("no file is longer than 400 lines") {
    tree::Findings findings;
    auto files = tree::all_cpp();
    for (const tree::Source& file : tree::sources({"cmake", "tests"}, {".cmake", ".txt"})) {
        if (file.path.ends_with(".cmake") || file.path.ends_with("CMakeLists.txt")) files.push_back(file);
    }
    for (const tree::Source& file : files) {
        const std::size_t lines = tree::lines_of(file.text).size();
        if (lines > kLongestFile) findings.push_back(fmt::format("{}: {} lines", file.path, lines));
    }
    CHECK(tree::listed(findings) == "");
}

TEST_CASE("no function is longer than 80 lines") {
    tree::Findings findings;
    for (const tree::Source& file : tree::all_cpp()) {
        for (const tree::Function& function : tree::functions_in(file.text)) {
            const std::size_t lines = function.last_line - function.first_line + 1;
            if (lines > kLongestFunction) {
                findings.push_back(fmt::format("{}:{}: {} lines", file.path, function.first_line, lines));
            }
        }
    }
    CHECK(tree::listed(findings) == "");
}
