// The loss that balances experts: what switches it on, what it keeps alive, and where it is refused.
#include <algorithm>

#include <fmt/format.h>

#include "model/record.hpp"
#include "support/catch.hpp"
#include "vramfit/base/error.hpp"
#include "vramfit/predict/predict.hpp"

using namespace vramfit;

namespace {

Job mixture_job(const char* more = "") {
    return read_job(std::string(R"({"schema": "vramfit.job/1", "model": {"model_type": "qwen3_moe", "hidden_size": 128,
        "intermediate_size": 256, "moe_intermediate_size": 64, "num_experts": 8, "num_experts_per_tok": 2,
        "num_hidden_layers": 3, "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 32, "vocab_size": 512)") +
                        more + R"(}, "batch": {"sequence_length": 64}})",
                    "job.json", {});
}

Job in_trl(std::optional<double> coefficient, const char* more = "") {
    Job job = mixture_job(more);
    job.plan.loop.kind = LoopKind::sft;
    job.plan.training.router_aux_loss_coef = coefficient;
    return job;
}

/// How many allocations, one step of which balances or does not.
std::size_t allocations(const Job& job) { return program_of(job).allocations.size(); }

std::vector<Problem> why_refused(const Job& job) {
    try {
        (void)program_of(job);
    } catch (const Error& error) {
        return error.problems();
    }
    return {};
}

bool says(const Job& job, std::string_view where, std::string_view what) {
    const std::vector<Problem> problems = why_refused(job);
    return std::any_of(problems.begin(), problems.end(), [&](const Problem& problem) {
        return problem.where == where && problem.what.find(what) != problem.what.npos;
    });
}

constexpr const char* kOn = R"(, "output_router_logits": true)";

}  // namespace

TEST_CASE("Trainer adds the loss where the model's config says so") {
    CHECK(allocations(mixture_job()) < allocations(mixture_job(kOn)));
    // With a weight of 0 it is computed all the same.
    CHECK(allocations(mixture_job(R"(, "output_router_logits": true, "router_aux_loss_coef": 0)")) ==
          allocations(mixture_job(kOn)));
}

TEST_CASE("trl adds it unless its weight is 0, whatever the config says of it") {
    const std::size_t without = allocations(in_trl(0.0)), with = allocations(in_trl({}));
    CHECK(without < with);
    CHECK(allocations(in_trl(0.0, kOn)) == without);
    CHECK(allocations(in_trl(0.01)) == with);
    CHECK(allocations(in_trl({}, R"(, "router_aux_loss_coef": 0)")) == without);
    CHECK(allocations(in_trl(0.01, R"(, "router_aux_loss_coef": 0)")) == with);
    CHECK(allocations(in_trl({}, R"(, "router_aux_loss_coef": 0.5)")) == with);
}

TEST_CASE("layers without experts have no router") {
    const std::size_t one_less = allocations(mixture_job(R"(, "output_router_logits": true, "mlp_only_layers": [1])")) -
                                 allocations(mixture_job(R"(, "mlp_only_layers": [1])"));
    CHECK(one_less < allocations(mixture_job(kOn)) - allocations(mixture_job()));
}

TEST_CASE("where the loss that balances experts stops or is not known, it is refused") {
    CHECK(says(mixture_job(R"(, "output_router_logits": true, "mlp_only_layers": [0, 1, 2])"),
               "model.output_router_logits", "no layer has experts"));
    Job liger = mixture_job(kOn);
    liger.plan.training.use_liger_kernel = true;
    CHECK(says(liger, "model.output_router_logits", "fused with the head"));
    Job dense = in_trl(0.01);
    dense.model.model_type = "qwen3";
    dense.model.mixture = std::nullopt;
    CHECK(says(dense, "training.router_aux_loss_coef", "not a mixture"));
    dense.plan.training.router_aux_loss_coef = 0.0;
    CHECK(why_refused(dense).empty());
}

TEST_CASE(
    "of recorded mixtures SFTTrainer's loss that balances experts is answered where routers and sizes are known") {
    const auto job = [](std::string_view model, const char* training) {
        Job read = read_job(fmt::format(R"({{"schema": "vramfit.job/1", "stack": "hf-2026-11", "model": {{{}}},
            "training": {{{}}}, "batch": {{"sequence_length": 64}}, "loop": {{"kind": "sft"}}}})",
                                        model, training),
                            "job.json", {});
        return read;
    };
    const auto refusal = [](const Job& asked) -> std::string {
        try {
            predict(asked.model, asked.plan, asked.stack, asked.device);
        } catch (const Error& error) {
            CHECK(error.kind() == ErrorKind::unsupported);
            return fmt::format("{}: {}", error.problems()[0].where, error.problems()[0].what);
        }
        return "answered";
    };
    const std::string olmoe = R"("model_type": "olmoe", "vocab_size": 320, "hidden_size": 64, "intermediate_size": 176,
        "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2, "num_experts": 8,
        "num_experts_per_tok": 2)";
    const std::string glm = R"("model_type": "glm4_moe", "vocab_size": 320, "hidden_size": 64,
        "intermediate_size": 176, "moe_intermediate_size": 40, "num_hidden_layers": 2, "num_attention_heads": 4,
        "num_key_value_heads": 2, "n_routed_experts": 8, "num_experts_per_tok": 2, "head_dim": 16)";
    // The class knows output_router_logits: its coefficient is not 0 unless somebody says so.
    CHECK(refusal(job(olmoe, "")) == "answered");
    CHECK(refusal(job(olmoe, R"("router_aux_loss_coef": 0.01)")) == "answered");
    const std::string granite = R"("model_type": "granitemoe", "vocab_size": 320, "hidden_size": 64,
        "intermediate_size": 40, "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2,
        "num_local_experts": 8, "num_experts_per_tok": 2)";
    CHECK(refusal(job(granite, "")).starts_with("loop.kind: trl's SFTTrainer stops: "));
    CHECK(refusal(job(granite, R"("router_aux_loss_coef": 0)")) == "answered");
    CHECK(refusal(job(olmoe, R"("router_aux_loss_coef": 0)")) == "answered");
    CHECK(refusal(job(olmoe + R"(, "router_aux_loss_coef": 0.0)", "")) == "answered");
    CHECK(refusal(job(glm, "")) == "answered");
    CHECK(
        refusal(job(glm, R"("router_aux_loss_coef": 0.01)")).starts_with("training.router_aux_loss_coef: trl stops: "));
    // A config.json that has the key gives it to the class.
    CHECK(refusal(job(glm + R"(, "output_router_logits": false, "router_aux_loss_coef": 0.1)", ""))
              .starts_with("loop.kind: "));
}
