// Recorded types with Liger's kernels: programs rewritten as apply_liger_kernel_to_* patches a network that is loaded,
// and what is refused by name.
#include <set>
#include <string>
#include <variant>
#include <vector>

#include "expect.hpp"
#include "spec/liger.hpp"
#include "spec/network/rewritten/liger.hpp"
#include "support/catch.hpp"
#include "type_network.hpp"
#include "vramfit/spec/models.hpp"
#include "vramfit/spec/plan_check.hpp"
#include "vramfit/spec/stacks.hpp"

using namespace vramfit;

namespace {

void collect(const network::Document& document, network::Number program, std::multiset<std::string>& functions) {
    for (const network::Instruction& instruction : document.programs[program].code) {
        if (const auto* call = std::get_if<network::Call>(&instruction)) functions.insert(call->function);
        if (const auto* run = std::get_if<network::Run>(&instruction)) collect(document, run->program, functions);
    }
}

/// What a plain training step calls.
std::multiset<std::string> called_by(const network::Document& document) {
    std::multiset<std::string> functions;
    for (const network::Variant& variant : document.variants)
        if (variant.attention == "sdpa" && variant.mask == "full" && !variant.checkpointing && !variant.sizes) {
            collect(document, variant.program, functions);
            break;
        }
    return functions;
}

std::size_t count(const std::multiset<std::string>& functions, std::string_view name) {
    return functions.count(std::string(name));
}

std::string refusal_with_liger(const std::string& model, void (*set)(TrainPlan&)) {
    TrainPlan plan;
    plan.training.use_liger_kernel = true;
    plan.batch.sequence_length = 64;
    set(plan);
    const auto error = error_of([&] { check_plan(load_model(model, {}), plan, stack_from("").stack); });
    std::string all;
    for (const Problem& problem : error ? error->problems() : std::vector<Problem>()) all += problem.what + "\n";
    return all;
}

void alone(TrainPlan&) {}

}  // namespace

TEST_CASE("norms, gates and rotary embeddings of a recorded type become Liger's, by the names that it patches") {
    const auto functions = called_by(network::with_liger(network_of_type("olmo3", R"(, "num_hidden_layers": 4)")));
    CHECK(count(functions, network::kLigerNorm) == 1);       // behind the layers
    CHECK(count(functions, network::kLigerNormApart) == 8);  // behind attention and MLP; q_norm and k_norm stay
    CHECK(count(functions, network::kLigerGate) == 4);
    CHECK(count(functions, network::kLigerRope) == 4);
    CHECK(count(functions, "torch.rsqrt") == 8);
    CHECK(count(functions, "torch.cat") == 2);  // of the two tables, not of halves of heads
    CHECK(count(functions, "torch.Tensor.neg") == 0);
}

TEST_CASE("a gated norm of linear attention keeps its own code under a name that Liger patches elsewhere") {
    const auto functions = called_by(network::with_liger(network_of_type(
        "qwen3_5_text", R"(, "num_hidden_layers": 4, "layer_types": ["linear_attention", "linear_attention",
                            "linear_attention", "full_attention"])")));
    CHECK(count(functions, network::kLigerNorm) == 0);
    CHECK(count(functions, network::kLigerNormApart) == 11);  // two a layer, q_norm and k_norm, the last
    CHECK(count(functions, network::kLigerRope) == 0);
    CHECK(count(functions, "torch.rsqrt") >= 3);
}

TEST_CASE("a recording of a type that Liger does not patch stays as it is") {
    const network::Document document = network_of_type("olmo", R"(, "num_hidden_layers": 2)");
    CHECK(called_by(network::with_liger(document)) == called_by(document));
}

TEST_CASE("every family that is patched is one that Liger knows") {
    for (const char* type :
         {"gemma", "gemma2", "gemma3_text", "glm4", "llama", "mistral", "olmo2", "phi3", "qwen2", "qwen3", "smollm3"}) {
        INFO(type);
        CHECK(liger_patches(type));
        CHECK(has_liger(type));
    }
    for (const char* type :
         {"exaone4", "gemma4", "gemma4_text", "hunyuan_v1_dense", "ministral", "olmo3", "qwen3_5", "qwen3_5_text"}) {
        INFO(type);
        CHECK(network::has_liger_patches(type));
        CHECK(has_liger(type));
    }
    CHECK(!has_liger("gpt2"));
    CHECK(!has_liger("olmo"));
    CHECK(!liger_patches("mixtral"));
}

TEST_CASE("Liger's kernels of recorded types that were not compared are refused by name") {
    CHECK(refusal_with_liger("olmo-3-1025-7b", alone).empty());
    CHECK(refusal_with_liger("deepseek-v2-lite", alone).find("deepseek_v2 were not compared") != std::string::npos);
    CHECK(refusal_with_liger("apertus-8b-2509", alone).empty());  // left alone
    CHECK(refusal_with_liger("olmo-3-1025-7b", [](TrainPlan& plan) {
              plan.distributed.emplace().world_size = 2;
          }).empty());
}
