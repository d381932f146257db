// Recorded types under context parallelism: what goes into their programs, and what they make of it.
#include <algorithm>
#include <string>
#include <variant>

#include "expect.hpp"
#include "program_walk.hpp"
#include "spec/network/rewritten/context_parallel.hpp"
#include "support/catch.hpp"
#include "type_network.hpp"

using namespace vramfit;

namespace {

bool is_one(const network::Argument& argument) {
    return argument.is(network::Argument::Kind::integer) && argument.integer == 1;
}

}  // namespace

TEST_CASE("positions and shifted labels are given, with a row for each of the batch") {
    const network::Document whole = network_of_type("olmo", "");
    const network::Document cut = network::with_cut_sequences(whole);
    REQUIRE(cut.variants.size() == 4);  // padded or not, checkpointed or not
    for (const network::Variant& variant : cut.variants) {
        const network::Program& program = cut.programs[variant.program];
        CHECK(is_given(program, "position_ids"));
        CHECK(is_given(program, "shift_labels"));
        CHECK(calls_of(cut, variant, "torch.nn.functional.pad") == 0);
        bool any = false;
        for_each_program(cut, variant.program, [&](const network::Program& inner) {
            for (const network::Input& input : inner.inputs) {
                if (!input.name.starts_with("position_")) continue;
                any = true;
                CHECK(!is_one(input.what.sizes.front()));
            }
        });
        CHECK(any);
    }
    for (const network::Program& program : whole.programs) CHECK(!is_given(program, "shift_labels"));
}

TEST_CASE("attention is given no mask, though padded rows have one") {
    const network::Document whole = network_of_type("olmo", "");
    const network::Document cut = network::with_cut_sequences(whole);
    const auto masks = [](const network::Document& document, const network::Variant& variant) {
        std::size_t found = 0;
        for_each_program(document, variant.program, [&](const network::Program& program) {
            found += program.class_name == "OlmoAttention" && is_given(program, "attention_mask");
        });
        return found;
    };
    const auto padded = [](const network::Variant& variant) { return variant.mask == "padded"; };
    const auto before = std::find_if(whole.variants.begin(), whole.variants.end(), padded);
    const auto after = std::find_if(cut.variants.begin(), cut.variants.end(), padded);
    REQUIRE(before != whole.variants.end());
    REQUIRE(after != cut.variants.end());
    CHECK(masks(whole, *before) > 0);
    CHECK(masks(cut, *after) == 0);
}

TEST_CASE("a network that counts positions in a way of its own is refused") {
    const auto error = error_of([] { (void)network::with_cut_sequences(network_of_type("opt", "")); });
    REQUIRE(error.has_value());
    CHECK(error->kind() == ErrorKind::unsupported);
    CHECK(error->problems().front().what.find("counts positions or shifts labels in a way of its own") !=
          std::string::npos);
}
