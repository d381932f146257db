// Which parameters of a mixture peft puts adapters on, for names of linear layers that transformers 5 has merged.
#include <string>
#include <vector>

#include "support/catch.hpp"
#include "vramfit/base/error.hpp"
#include "vramfit/spec/models.hpp"
#include "vramfit/spec/modules.hpp"

namespace vramfit {
namespace {

/// Names of the first layer's targets, parameters behind their modules.
std::vector<std::string> first_targets(const char* model, LoraPlan plan) {
    std::vector<std::string> names;
    for (const LoraTarget& target : lora_targets(load_model(model, {}), plan)) {
        const std::string name = target.module.name + (target.parameter.empty() ? "" : "." + target.parameter);
        if (name.starts_with("model.layers.0.")) names.push_back(name.substr(std::string("model.layers.0.").size()));
    }
    return names;
}

LoraPlan plan_of(std::vector<std::string> names) {
    LoraPlan plan;
    plan.target_modules = std::move(names);
    return plan;
}

const std::vector<std::string> kExperts = {"mlp.experts.gate_up_proj", "mlp.experts.down_proj"};

}  // namespace

TEST_CASE("experts of recorded types get the adapters of the layers that they were") {
    const char* const olmoe = "olmoe-1b-7b-0924-instruct";
    CHECK(first_targets(olmoe, plan_of({"gate_proj", "up_proj", "down_proj"})) == kExperts);
    CHECK(first_targets(olmoe, plan_of({"q_proj", "down_proj"})) ==
          std::vector<std::string>{"self_attn.q_proj", "mlp.experts.down_proj"});
    CHECK(first_targets(olmoe, plan_of({"gate"})) == std::vector<std::string>{"mlp.gate.weight"});
    LoraPlan all;
    all.target_modules = "all-linear";
    CHECK(first_targets(olmoe, all).size() == 7);  // four of attention, the router, the experts' two
}

TEST_CASE("a regular expression over experts means the layers that they were") {
    LoraPlan plan;
    plan.target_modules = R"(.*experts\.(gate_proj|up_proj))";
    CHECK(first_targets("olmoe-1b-7b-0924-instruct", plan) == std::vector<std::string>{"mlp.experts.gate_up_proj"});
    plan.target_modules = R"(.*self_attn\.q_proj)";
    CHECK(first_targets("mixtral-8x7b-v0.1", plan) == std::vector<std::string>{"self_attn.q_proj"});
}

TEST_CASE("one of two layers that are one parameter now cannot have an adapter") {
    for (const char* const model : {"olmoe-1b-7b-0924-instruct", "qwen3-30b-a3b"})
        CHECK_THROWS_AS(first_targets(model, plan_of({"up_proj"})), Error);
}

}  // namespace vramfit
