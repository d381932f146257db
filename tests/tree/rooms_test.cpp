// The rooms of src/model point one way: a file includes only its own room and those before it.
#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "support/catch.hpp"
#include "tree/source.hpp"

namespace {

/// Lowest first. Files of src/model itself are above all rooms.
constexpr std::array<std::string_view, 22> kRooms = {
    "network/",       "quantizers/",       "parallel/context/", "parallel/tensor/",
    "adapters/",      "layers/",           "families/",         "losses/",
    "recorded/",      "causal_lm/",        "loading/",          "step/",
    "optimizers/",    "parallel/ddp/",     "parallel/fsdp2/",   "parallel/fsdp1/",
    "parallel/zero/", "second/",           "preferences/",      "unsloth/",
    "loops/",         "parallel/pipeline/"};

constexpr std::string_view kShared = "parallel/";  ///< what ways of sharing have in common: above the network

/// Where a file of src/model stands: "layers/mlp.cpp" at that of "layers/".
std::size_t height_of(std::string_view path) {
    const auto holds = [path](std::string_view room) { return path.starts_with(room); };
    const auto room = std::find_if(kRooms.begin(), kRooms.end(), holds);
    if (room != kRooms.end()) return static_cast<std::size_t>(room - kRooms.begin()) + 1;
    if (path.starts_with(kShared)) return 1;
    return kRooms.size() + 1;
}

bool is_in_a_room(std::string_view path) {
    return height_of(path) <= kRooms.size() || path.find('/') == std::string_view::npos;
}

tree::Findings room_violations(const tree::Source& file) {
    constexpr std::string_view kLayer = "src/model/";
    const std::string_view from = std::string_view(file.path).substr(kLayer.size());
    tree::Findings findings;
    if (!is_in_a_room(from)) findings.push_back(fmt::format("{}: is in no room", file.path));
    std::size_t number = 0;
    for (const std::string_view line : tree::lines_of(file.text)) {
        ++number;
        std::optional<std::string_view> target = tree::own_include(line);
        if (!target || !target->starts_with("model/")) continue;
        target->remove_prefix(6);
        if (height_of(*target) > height_of(from))
            findings.push_back(fmt::format("{}:{}: includes {} of a later room", file.path, number, *target));
    }
    return findings;
}

}  // namespace

TEST_CASE("the reader of rooms sees what it should") {
    CHECK(room_violations({"src/model/layers/a.cpp", "#include \"model/network/run.hpp\"\n"}).empty());
    CHECK(room_violations({"src/model/record.cpp", "#include \"model/loops/loops.hpp\"\n"}).empty());
    CHECK(room_violations({"src/model/parallel/a.hpp", "#include \"model/network/run.hpp\"\n"}).empty());
    CHECK(room_violations({"src/model/parallel/a.hpp", "#include \"model/layers/mlp.hpp\"\n"}).size() == 1);
    CHECK(room_violations({"src/model/network/a.hpp", "\n#include \"model/loops/trainer.hpp\"\n"}) ==
          tree::Findings{"src/model/network/a.hpp:2: includes loops/trainer.hpp of a later room"});
    CHECK(room_violations({"src/model/somewhere/a.cpp", ""}).size() == 1);
}

TEST_CASE("a room includes only those before it") {
    tree::Findings findings;
    for (const tree::Source& file : tree::sources({"src/model"}, {".cpp", ".hpp"}))
        for (const std::string& finding : room_violations(file)) findings.push_back(finding);
    CHECK(tree::listed(findings) == "");
}
