// Recorded types under context parallelism: what goes into their programs, and what they make of it.
#include <algorithm>
#include <functional>
#include <string>
#include <variant>

#include "expect.hpp"
#include "spec/network/rewritten/context_parallel.hpp"
#include "support/catch.hpp"
#include "type_network.hpp"

using namespace vramfit;

namespace {

using Visit = std::function<void(const network::Program&)>;

void for_each_program(const network::Document& document, network::Number number, const Visit& visit) {
    const network::Program& program = document.programs[number];
    visit(program);
    for (const network::Instruction& instruction : program.code)
        if (const auto* run = std::get_if<network::Run>(&instruction)) for_each_program(document, run->program, visit);
}

/// In how many programs of a variant, each as often as it is run, something calls the function.
std::size_t calls_of(const network::Document& document, const network::Variant& variant, std::string_view function) {
    std::size_t found = 0;
    for_each_program(document, variant.program, [&](const network::Program& program) {
        for (const network::Instruction& instruction : program.code)
            if (const auto* call = std::get_if<network::Call>(&instruction)) found += call->function == function;
    });
    return found;
}

bool is_given(const network::Program& program, std::string_view name) {
    return std::any_of(program.inputs.begin(), program.inputs.end(),
                       [&](const network::Input& input) { return input.name == name; });
}

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
