// Which recording of a type goes with a stack.
#include "expect.hpp"
#include "spec/network/document.hpp"
#include "spec/network/release.hpp"
#include "support/catch.hpp"
#include "vramfit/spec/config.hpp"
#include "vramfit/spec/job.hpp"
#include "vramfit/spec/plan_check.hpp"
#include "vramfit/spec/stacks.hpp"

#include <fmt/format.h>

using namespace vramfit;

namespace {

constexpr std::string_view kMamba2 =
    R"({"model_type": "mamba2", "vocab_size": 320, "hidden_size": 64, "num_hidden_layers": 2, "state_size": 16,
        "num_heads": 16, "head_dim": 8, "pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2})";

std::string recorded_with(const ModelSpec& model) { return model.recording->transformers; }

}  // namespace

TEST_CASE("a stack chooses the recording of its release, and the network keeps its name") {
    const ModelSpec model = read_config(kMamba2, "config.json", "mine");
    CHECK(recorded_with(model) == "5.17.0");
    const ModelSpec older = under_release(model, stack_from("axolotl-0.19").stack);
    CHECK(recorded_with(older) == "5.16.1");
    CHECK(older.name == "mine");
    CHECK(older.num_hidden_layers == 2);
    CHECK(recorded_with(under_release(older, stack_from("hf-2026-11").stack)) == "5.17.0");
    // None of its own: the recording stays, and is refused later.
    CHECK(recorded_with(under_release(model, stack_from("llamafactory-0.9.5").stack)) == "5.17.0");
}

TEST_CASE("a release without a recording of its own takes the newest one before it") {
    const ModelSpec model = read_config(kMamba2, "config.json", "mine");
    CHECK(recorded_with(under_release(model, stack_from("hf-2026-11-24,transformers=5.24.0").stack)) == "5.17.0");
    const network::BuiltInType* type = network::built_in_type("mamba2");
    REQUIRE(type);
    CHECK(network::recording_under(*type, Version{5, 24, 0}) == type);
    CHECK(network::recording_under(*type, Version{5, 16, 2}) == type->other_releases.data());
    CHECK_FALSE(network::recording_under(*type, Version{5, 15, 0}));
}

TEST_CASE("what came with a newer release is refused by an older stack, which names one that has it") {
    const std::string job =
        R"({"schema": "vramfit.job/1", "stack": "STACK", "model": {"model_type": "iquestcoder", "vocab_size": 320,
            "hidden_size": 64, "intermediate_size": 176, "num_hidden_layers": 2, "num_attention_heads": 4,
            "num_key_value_heads": 2, "head_dim": 16}})";
    const auto asked = [&](const std::string& stack) {
        return read_job(std::string(job).replace(job.find("STACK"), 5, stack), "job.json", Environment{});
    };
    CHECK(recorded_with(asked("hf-2026-11-24").model) == "5.23.0");
    const Job older = asked("hf-2026-11");
    const auto error = error_of([&] { check_plan(older.model, older.plan, older.stack); });
    REQUIRE(error);
    REQUIRE(error->problems().size() == 1);
    CHECK(error->problems()[0].what == "recorded with transformers 5.23.0, asked about 5.17.0");
    CHECK(error->problems()[0].hint.starts_with("choose a stack with transformers 5.23.0 (hf-2026-11-24)"));
}

TEST_CASE("a job's network is that of its stack's release") {
    const auto asked = [](std::string_view stack) {
        return recorded_with(
            read_job(fmt::format(R"({{"schema": "vramfit.job/1", "model": {}, "stack": "{}"}})", kMamba2, stack),
                     "job.json", Environment{})
                .model);
    };
    CHECK(asked("axolotl-0.19") == "5.16.1");
    CHECK(asked("hf-2026-11") == "5.17.0");
}
