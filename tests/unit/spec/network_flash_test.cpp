// Recorded types under flash_attention_2: programs that were recorded with sdpa, rewritten, and what is refused by
// name.
#include <algorithm>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include "expect.hpp"
#include "spec/network/rewritten/flash_attention.hpp"
#include "support/catch.hpp"
#include "type_network.hpp"
#include "vramfit/spec/models.hpp"
#include "vramfit/spec/plan_check.hpp"
#include "vramfit/spec/stacks.hpp"

using namespace vramfit;

namespace {

/// Functions that a variant calls, through all programs that it runs, and the comparisons that it makes.
struct Seen {
    std::multiset<std::string> functions;
    std::set<std::string> comparisons;
};

void look(const network::Document& document, network::Number program, Seen& seen) {
    for (const network::Instruction& instruction : document.programs[program].code) {
        if (const auto* call = std::get_if<network::Call>(&instruction)) seen.functions.insert(call->function);
        if (const auto* condition = std::get_if<network::If>(&instruction))
            seen.comparisons.insert(condition->condition.text);
        if (const auto* run = std::get_if<network::Run>(&instruction)) look(document, run->program, seen);
    }
}

std::vector<Seen> under_flash_attention(const network::Document& document) {
    std::vector<Seen> all;
    for (const network::Variant& variant : document.variants)
        if (variant.attention == "flash_attention_2") look(document, variant.program, all.emplace_back());
    return all;
}

std::optional<Error> refusal_of(const std::string& model, void (*set)(TrainPlan&)) {
    TrainPlan plan;
    plan.load.attention = AttentionImplementation::flash_attention_2;
    plan.batch.sequence_length = 64;
    set(plan);
    return error_of([&] { check_plan(load_model(model, {}), plan, stack_from("").stack); });
}

}  // namespace

TEST_CASE("rows that reach a window are no matter to flash attention, and no mask is made for them") {
    const network::Document document =
        network::with_flash_attention(network_of_type("olmo3", R"(, "num_hidden_layers": 4, "sliding_window": 24)"));
    const std::vector<Seen> all = under_flash_attention(document);
    REQUIRE(all.size() == 2);  // with checkpointing and without
    for (const Seen& seen : all) {
        CHECK(seen.functions.count(std::string(network::kFlashAttention)) == 4);
        CHECK(seen.functions.count("torch.nn.functional.scaled_dot_product_attention") == 0);
        CHECK(seen.functions.count("torch.Tensor.all") == 2);  // of either mask
        CHECK(seen.functions.count("torch.Tensor.sum") == 0);
        CHECK(seen.comparisons.count("S >= 24") == 0);
    }
    for (const network::Variant& variant : document.variants)
        if (variant.attention == "flash_attention_2") {
            CHECK(variant.mask == "full");
            CHECK(!variant.sizes);
        }
}

TEST_CASE("chunks of a state space stay a condition under flash attention") {
    const network::Document document = network::with_flash_attention(
        network_of_type("granitemoehybrid", R"(, "hidden_size": 64, "num_attention_heads": 4, "num_key_value_heads": 2,
            "num_hidden_layers": 3, "mamba_n_heads": 8, "mamba_d_head": 16, "mamba_d_state": 16,
            "position_embedding_type": "nope", "layer_types": ["mamba", "attention", "mamba"])"));
    std::set<std::string> sizes;
    for (const network::Variant& variant : document.variants)
        if (variant.attention == "flash_attention_2") sizes.insert(variant.sizes ? variant.sizes->text : std::string());
    CHECK(sizes == std::set<std::string>{"", "256*((S+255)//256)-S <= 0"});
}

TEST_CASE(
    "keys and values that only scaled_dot_product_attention wants repeated are not, and positions are handed on") {
    const auto calls = [](const network::Document& document) {
        std::vector<const network::Call*> found;
        for (const network::Program& program : document.programs)
            for (const network::Instruction& instruction : program.code)
                if (const auto* call = std::get_if<network::Call>(&instruction);
                    call && call->function == network::kFlashAttention)
                    found.push_back(call);
        return found;
    };
    // Heads of more than 256 numbers: sdpa_attention_forward repeats keys and values of all layers with full attention.
    const network::Document gemma = network::with_flash_attention(network_of_type(
        "gemma4_text", R"(, "num_hidden_layers": 6, "layer_types": ["sliding_attention", "sliding_attention",
            "full_attention", "sliding_attention", "sliding_attention", "full_attention"])"));
    REQUIRE(!under_flash_attention(gemma).empty());
    for (const Seen& seen : under_flash_attention(gemma))
        CHECK(seen.functions.count("torch.Tensor.expand") == 2);  // of either kind's rotary embedding
    for (const network::Call* call : calls(gemma)) CHECK(call->arguments.at(3).is(network::Argument::Kind::value));
    const network::Document ministral =
        network::with_flash_attention(network_of_type("ministral3", R"(, "num_hidden_layers": 2)"));
    REQUIRE(!calls(ministral).empty());
    for (const network::Call* call : calls(ministral)) CHECK(call->arguments.at(3).is(network::Argument::Kind::none));
}

TEST_CASE("what flash_attention_2 and cut cross entropy are not answered for is refused by name") {
    const auto nothing = [](TrainPlan&) {};
    CHECK(!refusal_of("olmo-3-1025-7b", nothing));
    CHECK(says(refusal_of("bloom-560m", nothing), "load.attn_implementation",
               "transformers stops: BloomForCausalLM does not support Flash Attention 2 yet"));
    CHECK(says(refusal_of("falcon-7b", nothing), "load.attn_implementation", "not compared"));
    CHECK(says(refusal_of("olmo-3-1025-7b", [](TrainPlan& plan) { plan.loop.kind = LoopKind::dpo; }),
               "load.attn_implementation", "rows of preferences"));
    const auto cut = [](TrainPlan& plan) {
        plan.training.cut_cross_entropy = true;
        plan.load.dtype = DType::bfloat16;
    };
    CHECK(!refusal_of("olmo-3-1025-7b", cut));
    CHECK(says(refusal_of("olmoe-1b-7b-0125", cut), "training.cut_cross_entropy", "olmoe"));
}
