// Parameters that a checkpoint has as one tensor.
#include "model/loading/checkpoint_names.hpp"

#include "support/catch.hpp"
#include "vramfit/base/error.hpp"

using namespace vramfit;
using namespace vramfit::model;

namespace {

Entry parameter(std::string name, const engine::Dims& sizes) {
    Entry entry;
    entry.name = std::move(name);
    entry.sizes = sizes;
    return entry;
}

network::Document with_one_tensor_of_two() {
    network::Document document;
    for (const char* name : {"layers.*.q", "layers.*.k"}) {
        network::Published row;
        row.parameter = name;
        row.files = {"layers.*.qk"};
        document.checkpoint.push_back(row);
    }
    return document;
}

}  // namespace

TEST_CASE("parts of one tensor of a checkpoint are loaded with the first of them") {
    std::vector<Entry> entries{parameter("layers.0.q", {4, 8}), parameter("norm", {8}), parameter("layers.1.q", {4, 8}),
                               parameter("layers.0.k", {4, 8}), parameter("layers.1.k", {4, 8})};
    name_as_published(with_one_tensor_of_two(), entries);
    CHECK(entries[0].name == "layers.0.qk");
    CHECK(entries[0].cut_with == std::vector<std::size_t>{3});
    CHECK(entries[2].cut_with == std::vector<std::size_t>{4});
    CHECK(entries[3].is_cut_from_other);
    CHECK(entries[4].is_cut_from_other);
    CHECK(!entries[1].is_cut_from_other);
}

TEST_CASE("parts of several sizes are refused") {
    std::vector<Entry> entries{parameter("layers.0.q", {4, 8}), parameter("layers.0.k", {2, 8})};
    CHECK_THROWS_AS(name_as_published(with_one_tensor_of_two(), entries), Error);
}
