// Flags of a plan: generation and loss of GRPO and RLOO, and the lengths that trl's arguments allow where none is
// given.
#include <fmt/format.h>

#include "cli/flags/tables.hpp"
#include "cli/flags/values.hpp"

namespace vramfit::cli {

namespace {

constexpr const char* kGrpo = "GRPO and RLOO (--loop grpo, rloo)";

GrpoPlan& grpo_of(Job& job) { return job.plan.preference.grpo; }

constexpr PlanFlag kGrpoFlags[] = {
    {"num_generations", "", "N", nullptr, kGrpo, "Completions of each prompt; --batch counts completions [8, RLOO: 2]",
     [](Job& job, std::string_view value, const std::string& where) {
         grpo_of(job).num_generations = integer_from(value, where);
     }},
    {"max_completion_length", "", "N", nullptr, kGrpo,
     "Tokens that a completion may have; without --completion each one has so many [512]",
     [](Job& job, std::string_view value, const std::string& where) {
         grpo_of(job).max_completion_length = integer_from(value, where);
     }},
    {"padded", "", "BOOL", "true", kGrpo,
     "The rows of a batch differ in length, up to --prompt and --completion, and are padded; false: all are as long "
     "[true]",
     [](Job& job, std::string_view value, const std::string& where) {
         job.plan.batch.pairs.padded = boolean_from(value, where);
     }},
    {"steps_per_generation", "", "N", nullptr, kGrpo,
     "Batches whose completions are generated at once [the steps of accumulation]",
     [](Job& job, std::string_view value, const std::string& where) {
         grpo_of(job).steps_per_generation = integer_from(value, where);
     }},
    {"num_iterations", "", "N", nullptr, kGrpo, "How often completions are trained on [1]",
     [](Job& job, std::string_view value, const std::string& where) {
         grpo_of(job).num_iterations = integer_from(value, where);
     }},
    {"beta", "", "X", nullptr, kGrpo,
     "Weight of the divergence from a reference; memory asks only whether it is 0, which needs no reference [0, RLOO: "
     "0.05]",
     [](Job& job, std::string_view value, const std::string& where) {
         grpo_of(job).has_reference = number_from(value, where) != 0;
     }},
    {"temperature", "", "X", nullptr, kGrpo, "Of sampling; memory asks only whether it is 1 [1]",
     [](Job& job, std::string_view value, const std::string& where) {
         grpo_of(job).has_temperature = number_from(value, where) != 1;
     }},
    {"normalize_advantages", "", "BOOL", "true", kGrpo, "RLOO: advantages are normalized [false]",
     [](Job& job, std::string_view value, const std::string& where) {
         grpo_of(job).normalizes_advantages = boolean_from(value, where);
     }},
    {"use_vllm", "", "BOOL", "true", kGrpo, "Not predicted: generation by transformers is [false]",
     [](Job&, std::string_view value, const std::string& where) {
         if (boolean_from(value, where))
             throw Error(ErrorKind::unsupported, where, "generation by vLLM is not supported",
                         "leave it out: transformers then generates; a vLLM beside it in the same process takes "
                         "vllm_gpu_memory_utilization of the GPU for itself, which --reserve can set apart");
     }},
};

}  // namespace

std::span<const PlanFlag> grpo_flags() { return kGrpoFlags; }

void complete_grpo(Job& job, const IsGiven& given) {
    const LoopKind kind = job.plan.loop.kind;
    if (!generates_rows(kind)) {
        for (const PlanFlag& flag : kGrpoFlags)
            if (given(flag.name))
                throw Error(ErrorKind::invalid, fmt::format("--{}", flag.name), "only GRPO and RLOO have it",
                            "add --loop grpo or --loop rloo");
        return;
    }
    if (kind == LoopKind::grpo && given("normalize_advantages"))
        throw Error(ErrorKind::invalid, "--normalize_advantages", "GRPOTrainer has no such argument", "leave it out");
    BatchPlan& batch = job.plan.batch;
    GrpoPlan& grpo = grpo_of(job);
    const GrpoPlan otherwise = plan_of_groups(kind);
    if (!given("num_generations")) grpo.num_generations = otherwise.num_generations;
    if (!given("beta")) grpo.has_reference = otherwise.has_reference;
    job.plan.preference.disable_dropout = false;
    const std::int64_t completion = batch.sequence_length - batch.pairs.prompt.front();
    if (!given("prompt")) batch.pairs.prompt = {kGroupPrompt};
    if (!given("padded")) batch.pairs.padded = true;
    if (!given("batch")) job.plan.training.per_device_train_batch_size = grpo.num_generations;  // one prompt's
    const std::int64_t prompt = batch.pairs.prompt.front();
    if (given("completion"))
        batch.sequence_length = prompt + completion;
    else if (!given("seq"))
        batch.sequence_length = prompt + grpo.max_completion_length.value_or(512);
    if (!given("max_completion_length")) grpo.max_completion_length.reset();  // as long as the rows are
}

}  // namespace vramfit::cli
