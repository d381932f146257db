// Flags of a plan: Unsloth's own step, and what its functions choose where nothing is said.
#include <algorithm>
#include <vector>

#include <fmt/format.h>

#include "base/split.hpp"
#include "cli/flags/tables.hpp"
#include "cli/flags/values.hpp"
#include "vramfit/base/error.hpp"
#include "vramfit/spec/stacks.hpp"

namespace vramfit::cli {

namespace {

constexpr const char* kUnslothGroup = "Unsloth (--loop unsloth)";

constexpr PlanFlag kUnslothFlags[] = {
    {"use_gradient_checkpointing", "", "MODE", nullptr, kUnslothGroup,
     "unsloth (inputs of layers above 2 MiB wait in host memory) or true [unsloth]",
     [](Job& job, std::string_view value, const std::string& where) {
         if (value == "unsloth")
             job.plan.unsloth.checkpointing = UnslothCheckpointing::offloaded;
         else if (boolean_from(value, where))
             job.plan.unsloth.checkpointing = UnslothCheckpointing::plain;
         else
             throw Error(ErrorKind::unsupported, where, "Unsloth without checkpointing is not supported",
                         "unsloth, or true");
     }},
    {"llm_int8_skip_modules", "", "MODULES", nullptr, kUnslothGroup,
     "Layers that the 4-bit checkpoint has in 16 bits, divided by +: model.layers.1.mlp+model.layers.3.self_attn "
     "[what quantization_config of the model's config.json says]",
     [](Job& job, std::string_view value, const std::string& where) {
         job.plan.unsloth.skip_modules.clear();
         for (const std::string_view module : split(value, '+')) {
             if (module.empty() || module.find(',') != module.npos)
                 throw Error(ErrorKind::invalid, where, fmt::format("'{}' is no list of modules", value),
                             "modules divided by +: model.layers.1.mlp+model.layers.3.self_attn");
             job.plan.unsloth.skip_modules.emplace_back(module);
         }
     }},
    {"embedding_learning_rate", "", "RATE", nullptr, kUnslothGroup,
     "UnslothTrainer's own, for an embedding and a head that --save-whole names [as all others']",
     [](Job& job, std::string_view value, const std::string& where) {
         job.plan.unsloth.embedding_learning_rate = number_from(value, where);
     }},
    {"row-lengths", "", "N+N", nullptr, kUnslothGroup,
     "Tokens of each row of the data, over and over: 2048+700+300 [all rows of --seq]",
     [](Job& job, std::string_view value, const std::string& where) {
         job.plan.batch.lengths.clear();
         for (const std::string_view row : split(value, '+')) {
             const std::int64_t tokens = integer_from(row, where);
             if (tokens < 2)
                 throw Error(ErrorKind::invalid, where, fmt::format("a row of {} tokens trains nothing", tokens),
                             "2 tokens or more");
             job.plan.batch.lengths.push_back(tokens);
         }
     }},
};

}  // namespace

std::span<const PlanFlag> unsloth_flags() { return kUnslothFlags; }

// unsloth 2026.10.7, models/loader.py and models/llama.py get_peft_model: bfloat16 where the card has it, adapters of
// rank 16 on all seven projections.
void complete_unsloth(Job& job, const IsGiven& given) {
    if (job.plan.loop.kind != LoopKind::unsloth) {
        if (given("use_gradient_checkpointing"))
            throw Error(ErrorKind::invalid, "--use_gradient_checkpointing", "only Unsloth's own step has it",
                        "add --loop unsloth, or give --checkpointing");
        if (given("llm_int8_skip_modules"))
            throw Error(ErrorKind::invalid, "--llm_int8_skip_modules", "only Unsloth's own step has it",
                        "add --loop unsloth, or load.quantization_config of a job file");
        if (given("embedding_learning_rate"))
            throw Error(ErrorKind::invalid, "--embedding_learning_rate", "only Unsloth's own step has it",
                        "add --loop unsloth");
        if (given("row-lengths"))
            throw Error(ErrorKind::unsupported, "--row-lengths",
                        "rows of given lengths are predicted of Unsloth's own step only",
                        "add --loop unsloth, or give the longest with --seq");
        return;
    }
    TrainPlan& plan = job.plan;
    const std::vector<std::int64_t>& lengths = plan.batch.lengths;
    if (given("row-lengths") && !given("seq"))
        plan.batch.sequence_length = *std::max_element(lengths.begin(), lengths.end());
    if (!given("stack")) job.stack = stack_from("unsloth-2026.10").stack;
    if (!given("prepare-kbit")) plan.prepare_kbit.reset();
    const bool has_bfloat16 = job.device.capability >= Capability{8, 0};
    if (!plan.training.bf16 && !plan.training.fp16) (has_bfloat16 ? plan.training.bf16 : plan.training.fp16) = true;
    if (!given("dtype")) plan.load.dtype = plan.training.fp16 ? DType::float16 : DType::bfloat16;
    if (plan.load.quantization && !given("bnb_4bit_compute_dtype"))
        plan.load.quantization->compute_dtype = plan.load.dtype;
    if (!plan.peft) return;
    if (!given("rank") && !given("recipe")) plan.peft->r = 16;
    if (!given("targets") && !given("recipe"))
        plan.peft->target_modules =
            std::vector<std::string>{"q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"};
}

}  // namespace vramfit::cli
