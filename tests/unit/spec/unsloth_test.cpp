// Job files of Unsloth's loop: what its keys mean, and what was not compared is refused by name.
#include <fmt/format.h>

#include "support/catch.hpp"
#include "vramfit/base/error.hpp"
#include "vramfit/spec/config.hpp"
#include "vramfit/spec/job.hpp"
#include "vramfit/spec/plan_check.hpp"
#include "vramfit/spec/stacks.hpp"

using namespace vramfit;

namespace {

constexpr const char* kLora =
    R"("peft": {"peft_type": "LORA", "r": 16, "lora_alpha": 16, "lora_dropout": 0, "target_modules":
       ["q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"]})";

/// A job of the loop with these members beside, or in place of, the adapters.
Job unsloth_job(const std::string& members, const std::string& training = R"("bf16": true)") {
    return read_job(fmt::format(R"({{"schema": "vramfit.job/1", "model": "llama-3.2-1b", "stack": "unsloth-2026.10",
                                    "loop": {{"kind": "unsloth"}}, "batch": {{"sequence_length": 256}},
                                    "training": {{{}}}, {}}})",
                                training, members),
                    "job.json", {});
}

/// The first problem that the reader or the plan's check has; empty: none.
std::string refused_at(const std::string& members, const std::string& training = R"("bf16": true)") {
    try {
        const Job job = unsloth_job(members, training);
        (void)PlanChecker(job.model, job.stack).check(job.plan);
    } catch (const Error& error) {
        return error.problems().at(0).where;
    }
    return "";
}

std::string told(const char* unsloth) { return fmt::format(R"({}, "unsloth": {})", kLora, unsloth); }

}  // namespace

TEST_CASE("a job of Unsloth loads in 4 bits with double quantization unless it says otherwise") {
    const Job job = unsloth_job(kLora);
    REQUIRE(job.plan.load.quantization);
    CHECK(job.plan.load.quantization->double_quant);
    CHECK(job.plan.load.quantization->compute_dtype == DType::bfloat16);
    CHECK(job.plan.unsloth.checkpointing == UnslothCheckpointing::offloaded);
    CHECK_FALSE(unsloth_job(told(R"({"load_in_4bit": false})")).plan.load.quantization);
    CHECK(unsloth_job(kLora, R"("fp16": true)").plan.load.dtype == DType::float16);
    CHECK(refused_at(kLora) == "");
}

TEST_CASE("padded rows were compared with one release of Unsloth, releases that were not at all are refused") {
    const Job job = unsloth_job(kLora, R"("bf16": true, "padding_free": false)");
    const auto problem_with = [&](const char* stack) {
        try {
            (void)PlanChecker(job.model, stack_from(stack).stack).check(job.plan);
        } catch (const Error& error) {
            return error.problems().at(0).where;
        }
        return std::string();
    };
    CHECK(problem_with("unsloth-2026.10") == "");
    CHECK(problem_with("unsloth-2026.10.9") == "training.padding_free");
    CHECK(problem_with("unsloth-2026.10,unsloth=2026.10.8") == "stack");
    Job dropping = unsloth_job(kLora);
    dropping.plan.peft->lora_dropout = 0.1;
    CHECK_NOTHROW(PlanChecker(dropping.model, stack_from("unsloth-2026.10").stack).check(dropping.plan));
    CHECK_NOTHROW(PlanChecker(dropping.model, stack_from("unsloth-2026.10.9").stack).check(dropping.plan));
}

TEST_CASE("a job of Unsloth is written as it was read") {
    for (const char* unsloth :
         {"{}", R"({"load_in_4bit": false, "max_seq_length": 512})", R"({"use_gradient_checkpointing": true})",
          R"({"llm_int8_skip_modules": ["model.layers.1.mlp"]})", R"({"layers_unknown": true})"}) {
        const Job job = unsloth_job(told(unsloth));
        CHECK(read_job(to_json_text(job), "job.json", {}).plan == job.plan);
    }
}

TEST_CASE("padded rows are read and written with the arguments of training") {
    const Job job = unsloth_job(kLora, R"("bf16": true, "padding_free": false)");
    CHECK_FALSE(job.plan.unsloth.padding_free);
    CHECK(unsloth_job(kLora).plan.unsloth.padding_free);
    CHECK(read_job(to_json_text(job), "job.json", {}).plan == job.plan);
    CHECK(refused_at(kLora, R"("bf16": true, "padding_free": false)") == "");
}

TEST_CASE("packed rows are read and written with the arguments of training") {
    const Job job = unsloth_job(kLora, R"("bf16": true, "packing": true)");
    CHECK(job.plan.unsloth.packing);
    CHECK(read_job(to_json_text(job), "job.json", {}).plan == job.plan);
    CHECK(refused_at(kLora, R"("bf16": true, "packing": true)") == "");
}

TEST_CASE("rows of given lengths are read and written; longer ones, packed ones and other loops' are refused") {
    const char* job = R"({{"schema": "vramfit.job/1", "model": "llama-3.2-1b", "stack": "{}",
        "loop": {{"kind": "{}"}}, "training": {{"bf16": true, "per_device_train_batch_size": 2{}}},
        "batch": {{"sequence_length": 256, "lengths": {}}}, {}}})";
    const auto read = [&](const char* lengths, const char* training, const char* loop, const char* stack) {
        return read_job(fmt::format(fmt::runtime(job), stack, loop, training, lengths, kLora), "job.json", {});
    };
    const auto refused = [&](const char* lengths, const char* training) -> std::string {
        try {
            const Job one = read(lengths, training, "unsloth", "unsloth-2026.10");
            (void)PlanChecker(one.model, one.stack).check(one.plan);
        } catch (const Error& error) {
            return error.problems().at(0).where;
        }
        return "";
    };
    const Job uneven = read("[256, 100, 30]", "", "unsloth", "unsloth-2026.10");
    CHECK(uneven.plan.batch.lengths == std::vector<std::int64_t>{256, 100, 30});
    CHECK(read_job(to_json_text(uneven), "job.json", {}).plan == uneven.plan);
    CHECK(refused("[256, 100]", "") == "");
    CHECK(refused("[256, 100]", R"(, "padding_free": false)") == "");
    CHECK(refused("[257, 100]", "").find("lengths") != std::string::npos);
    CHECK(refused("[256, 100]", R"(, "packing": true)").find("lengths") != std::string::npos);
    CHECK(refused("[]", "").find("lengths") != std::string::npos);
    CHECK(refused("[1]", "").find("lengths") != std::string::npos);
    CHECK_THROWS_AS(read("[256, 100]", "", "trainer", "hf-2026-11"), Error);
}

TEST_CASE("where the longest rows meet, each batch has as many of them as it has rows, cut at the limit") {
    TrainPlan plan = unsloth_job(kLora).plan;
    plan.batch.lengths = {900, 300, 200};
    plan.batch.longest_meet = true;
    plan.training.per_device_train_batch_size = 2;
    CHECK(row_lengths(plan) == std::vector<std::int64_t>{256, 256});
    plan.batch.sequence_length = 500;
    CHECK(row_lengths(plan) == std::vector<std::int64_t>{500, 300});
    plan.training.per_device_train_batch_size = 4;
    CHECK(row_lengths(plan) == std::vector<std::int64_t>{500, 300, 200, 500});
    plan.batch.longest_meet = false;
    CHECK(row_lengths(plan) == std::vector<std::int64_t>{900, 300, 200});
}

namespace {

/// A small llama's config.json with these members more.
std::string config_with(const char* members) {
    return fmt::format(R"({{"model_type": "llama", "vocab_size": 128256, "hidden_size": 2048, "num_hidden_layers": 4,
                           "intermediate_size": 8192, "num_attention_heads": 32, "num_key_value_heads": 8,
                           "tie_word_embeddings": true, {}}})",
                       members);
}

constexpr const char* kPackedConfig =
    R"("quantization_config": {"quant_method": "bitsandbytes", "load_in_4bit": true, "_load_in_4bit": true,
       "bnb_4bit_quant_type": "nf4", "bnb_4bit_use_double_quant": true, "bnb_4bit_quant_storage": "uint8",
       "bnb_4bit_compute_dtype": "bfloat16", "llm_int8_skip_modules": ["lm_head", "merger", "model.layers.1.mlp"]})";

}  // namespace

TEST_CASE("a packed checkpoint's config.json says which layers it has in 16 bits") {
    const ModelSpec model = read_config(config_with(kPackedConfig), "config.json");
    REQUIRE(model.packed_but_for);
    CHECK(*model.packed_but_for == std::vector<std::string>{"lm_head", "merger", "model.layers.1.mlp"});
    CHECK(read_config(to_config_text(model), "config.json").packed_but_for == model.packed_but_for);
    CHECK_FALSE(read_config(config_with(R"("pad_token_id": 0)"), "config.json").packed_but_for);
    for (const char* other : {R"("quantization_config": {"quant_method": "gptq", "bits": 4})",
                              R"("quantization_config": {"quant_method": "bitsandbytes", "load_in_8bit": true})",
                              R"("quantization_config": {"quant_method": "bitsandbytes", "load_in_4bit": true,
             "bnb_4bit_quant_type": "fp4"})"})
        CHECK_THROWS_AS(read_config(config_with(other), "config.json"), Error);
}

TEST_CASE("a packed checkpoint is for Unsloth's step in 4 bits alone") {
    Job job = unsloth_job(kLora);
    job.model = read_config(config_with(kPackedConfig), "config.json");
    CHECK_NOTHROW(check_plan(job.model, job.plan, job.stack));
    TrainPlan in_16_bits = job.plan;
    in_16_bits.load.quantization.reset();
    CHECK_THROWS_AS(check_plan(job.model, in_16_bits, job.stack), Error);
    TrainPlan other = job.plan;
    other.loop.kind = LoopKind::trainer;
    CHECK_THROWS_AS(check_plan(job.model, other, job.stack), Error);
}

TEST_CASE("what Unsloth's step was not compared with is refused where it stands") {
    CHECK(refused_at(told(R"({"full_finetuning": true})")) == "job.json /unsloth/full_finetuning");
    CHECK(refused_at(told(R"({"use_gradient_checkpointing": false})")) ==
          "job.json /unsloth/use_gradient_checkpointing");
    CHECK(refused_at(told(R"({"max_seq_length": 128})")) == "unsloth.max_seq_length");
    CHECK(refused_at(kLora, R"("bf16": true, "packing": true, "padding_free": false)") == "training.packing");
    CHECK(refused_at(told(R"({"load_in_4bit": false, "llm_int8_skip_modules": ["model.layers.1.mlp"]})")) ==
          "unsloth.llm_int8_skip_modules");
    CHECK(refused_at(kLora, "") == "training.bf16");
    CHECK(refused_at(R"("peft": null, "unsloth": {"load_in_4bit": false})") == "peft");
    CHECK(refused_at(R"("peft": {"peft_type": "LORA", "target_modules": ["q_proj", "up_proj"]})") ==
          "peft.target_modules");
}
