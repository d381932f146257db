// Layers point one way: every include line of the library and the program is read.
#include <map>

#include <fmt/format.h>

#include "support/catch.hpp"
#include "tree/source.hpp"

namespace {

/// Lowest first; layers with one number do not know each other.
const std::map<std::string_view, int> kHeight = {
    {"base", 0},  {"symbolic", 1}, {"spec", 1},   {"trace", 2},   {"trainers", 2}, {"engine", 3},
    {"alloc", 3}, {"model", 4},    {"peaks", 5},  {"predict", 6}, {"snapshot", 4}, {"sweep", 7},
    {"check", 7}, {"methods", 7},  {"report", 8}, {"cli", 9},
};

/// "engine" of "src/engine/tape.cpp", "include/vramfit/engine/tape.hpp", "vramfit/engine/tape.hpp", "engine/tape.hpp".
std::string_view layer_of(std::string_view path) {
    for (const std::string_view prefix : {"src/", "include/", "vramfit/"}) {
        if (path.starts_with(prefix)) path.remove_prefix(prefix.size());
    }
    return path.substr(0, path.find('/'));
}

bool may_include(std::string_view from, std::string_view to) {
    if (from == to) return true;
    if (from == "model" && to == "alloc") return false;
    return kHeight.at(to) < kHeight.at(from);
}

/// The violations of one file.
tree::Findings violations(const tree::Source& file) {
    tree::Findings findings;
    const std::string_view from = layer_of(file.path);
    if (!kHeight.contains(from)) return {fmt::format("{}: belongs to no layer", file.path)};
    std::size_t number = 0;
    for (const std::string_view line : tree::lines_of(file.text)) {
        ++number;
        const auto target = tree::own_include(line);
        if (!target || target->find('/') == std::string_view::npos) continue;  // a file of the same folder
        const std::string_view to = layer_of(*target);
        if (!kHeight.contains(to)) {
            findings.push_back(fmt::format("{}:{}: {} is not named by its layer", file.path, number, *target));
        } else if (!may_include(from, to)) {
            findings.push_back(fmt::format("{}:{}: {} includes {}", file.path, number, from, *target));
        }
    }
    return findings;
}

}  // namespace

TEST_CASE("the reader of include lines sees what it should") {
    CHECK(violations({"src/engine/a.cpp", "#include <vector>\n#include \"vramfit/trace/program.hpp\"\n"}).empty());
    CHECK(violations({"src/model/a.cpp", "#include \"engine/tape.hpp\"\n"}).empty());
    CHECK(violations({"src/model/a.cpp", "#include \"alloc/pool.hpp\"\n"}).size() == 1);
    CHECK(violations({"src/engine/a.cpp", "\n#include \"vramfit/alloc/replay.hpp\"\n"}) ==
          tree::Findings{"src/engine/a.cpp:2: engine includes vramfit/alloc/replay.hpp"});
    CHECK(violations({"include/vramfit/base/a.hpp", "#include <vramfit/spec/stack.hpp>\n"}).size() == 1);
    CHECK(violations({"src/spec/a.cpp", "#include \"helper.hpp\"\n#include \"../base/b.hpp\"\n"}).size() == 1);
    CHECK(violations({"src/a.cpp", ""}).size() == 1);
}

TEST_CASE("a layer includes only those below it") {
    tree::Findings findings;
    for (const tree::Source& file : tree::sources({"include", "src"}, {".cpp", ".hpp"})) {
        for (const std::string& finding : violations(file)) findings.push_back(finding);
    }
    CHECK(tree::listed(findings) == "");
}
