// Adapters beside LoRA: their configurations, their targets, and what is refused of them.
#include "vramfit/spec/adapter_kind.hpp"

#include <fmt/format.h>

#include "expect.hpp"
#include "support/catch.hpp"
#include "vramfit/spec/config.hpp"
#include "vramfit/spec/job.hpp"
#include "vramfit/spec/plan_check.hpp"

using namespace vramfit;

namespace {

Job job_of_adapter(std::string_view peft, std::string_view more = "", std::string_view model = "llama-3.2-1b") {
    return read_job(fmt::format(R"({{"schema": "vramfit.job/1", "model": "{}", "peft": {}{}}})", model, peft, more),
                    "job.json", {});
}

std::optional<Error> refused_adapter(std::string_view peft, std::string_view more = "",
                                     std::string_view model = "llama-3.2-1b") {
    return error_of([&] {
        const Job job = job_of_adapter(peft, more, model);
        check_plan(job.model, job.plan, job.stack);
    });
}

bool is_refused(std::string_view peft, ErrorKind kind, std::string_view where, std::string_view more = "",
                std::string_view model = "llama-3.2-1b") {
    const auto error = refused_adapter(peft, more, model);
    return error && error->kind() == kind && error->problems()[0].where.find(where) != std::string::npos;
}

constexpr auto kInvalid = ErrorKind::invalid;
constexpr auto kUnsupported = ErrorKind::unsupported;

}  // namespace

/// What its class has no default for.
std::string_view least_keys(AdapterKind kind) {
    switch (kind) {
        case AdapterKind::prompt_tuning:
        case AdapterKind::prefix_tuning: return R"(, "num_virtual_tokens": 20)";
        case AdapterKind::p_tuning: return R"(, "num_virtual_tokens": 20, "encoder_hidden_size": 128)";
        case AdapterKind::trainable_tokens: return R"(, "token_indices": [1, 2])";
        default: return "";
    }
}

TEST_CASE("every kind is read with the defaults of its class, written and read again") {
    for (const AdapterKindFacts& facts : adapter_kinds()) {
        INFO(facts.peft_type);
        const std::string least = fmt::format(R"({{"peft_type": "{}"{}}})", facts.peft_type, least_keys(facts.kind));
        const Job job = job_of_adapter(least);
        REQUIRE(job.plan.peft);
        CHECK(job.plan.peft->kind == facts.kind);
        CHECK(job.plan.peft->r == facts.rank);
        CHECK_FALSE(refused_adapter(least));
        CHECK(read_job(to_json_text(job), "job.json", {}).plan == job.plan);
        CHECK(find_adapter_kind(facts.peft_type) == &facts);
    }
    CHECK(find_adapter_kind("LNTuning")->kind == AdapterKind::ln_tuning);
    CHECK(find_adapter_kind("poly") == nullptr);
}

TEST_CASE("keys of a kind are its own") {
    const Job ia3 =
        job_of_adapter(R"({"peft_type": "IA3", "target_modules": ["k_proj", "up_proj"], "feedforward_modules":
        ["up_proj"], "modules_to_save": ["lm_head"]})");
    CHECK(ia3.plan.peft->options.feedforward_modules == TargetModules(std::vector<std::string>{"up_proj"}));
    CHECK(read_job(to_json_text(ia3), "job.json", {}).plan == ia3.plan);
    const Job lokr = job_of_adapter(R"({"peft_type": "LOKR", "decompose_both": true, "decompose_factor": 16, "r": 4,
        "rank_pattern": {"v_proj": 2}, "alpha": 3})");
    CHECK(lokr.plan.peft->options.decompose_factor == 16);
    CHECK(read_job(to_json_text(lokr), "job.json", {}).plan == lokr.plan);
    const Job oft =
        job_of_adapter(R"({"peft_type": "OFT", "r": 8, "oft_block_size": 0, "block_share": true, "bias": "oft_only"})");
    CHECK(oft.plan.peft->options.blocks == 8);
    CHECK(read_job(to_json_text(oft), "job.json", {}).plan == oft.plan);
    CHECK(job_of_adapter(R"({"peft_type": "ADALORA", "init_r": 6, "r": 99})").plan.peft->r == 6);

    CHECK(is_refused(R"({"peft_type": "IA3", "r": 8})", kInvalid, "/peft/r"));
    CHECK(is_refused(R"({"peft_type": "VERA", "lora_alpha": 8})", kInvalid, "/peft/lora_alpha"));
    CHECK(is_refused(R"({"peft_type": "OFT", "r": 8})", kInvalid, "/peft/oft_block_size"));
    CHECK(is_refused(R"({"peft_type": "OFT", "coft": true})", kUnsupported, "/peft/coft"));
    CHECK(is_refused(R"({"peft_type": "LOHA", "rank_dropout": 0.1})", kUnsupported, "/peft/rank_dropout"));
    CHECK_FALSE(refused_adapter(R"({"peft_type": "LOHA", "rank_dropout": 0.0, "use_effective_conv2d": false})"));
    CHECK(is_refused(R"({"peft_type": "MISS", "init_weights": "bat"})", kUnsupported, "/peft/init_weights"));
    CHECK(is_refused(R"({"peft_type": "ADALORA", "use_dora": true})", kUnsupported, "/peft/use_dora"));
}

TEST_CASE("targets are those of peft's tables") {
    const auto names = [](const char* peft_type, const char* model) {
        return std::get<std::vector<std::string>>(
            job_of_adapter(fmt::format(R"({{"peft_type": "{}"}})", peft_type), "", model).plan.peft->target_modules);
    };
    using Names = std::vector<std::string>;
    CHECK(names("IA3", "llama-3.2-1b") == Names{"k_proj", "v_proj", "down_proj"});
    CHECK(names("IA3", "qwen2.5-0.5b") == Names{"q_proj", "v_proj", "down_proj"});
    CHECK(names("LN_TUNING", "qwen2.5-0.5b") == Names{"post_attention_layernorm"});
    CHECK(names("LOHA", "qwen2.5-0.5b") == Names{"q_proj", "v_proj"});
    CHECK(is_refused(R"({"peft_type": "ADALORA"})", kInvalid, "peft.target_modules", "", "mathstral-7b-v0.1"));
}

TEST_CASE("what was not compared is refused by name") {
    CHECK(is_refused(R"({"peft_type": "IA3"})", kUnsupported, "distributed",
                     R"(, "distributed": {"kind": "ddp", "world_size": 2})"));
    CHECK(is_refused(R"({"peft_type": "IA3"})", kUnsupported, "loop.kind", R"(, "loop": {"kind": "dpo"})"));
    CHECK(is_refused(R"({"peft_type": "IA3"})", kUnsupported, "peft.peft_type", R"(, "stack": "hf-2026-01")"));
    CHECK(is_refused(R"({"peft_type": "LOHA"})", kUnsupported, "load.quantization_config",
                     R"(, "load": {"quantization_config": {"load_in_4bit": true}})"));
    CHECK(is_refused(R"({"peft_type": "IA3", "target_modules": ["lm_head"], "feedforward_modules": []})", kUnsupported,
                     "peft.target_modules"));
    CHECK(
        is_refused(R"({"peft_type": "LN_TUNING", "target_modules": ["q_proj"]})", kUnsupported, "peft.target_modules"));
    CHECK(is_refused(R"({"peft_type": "IA3"})", kUnsupported, "load.quantization_config",
                     R"(, "load": {"quantization_config": {"load_in_4bit": true}})"));
    CHECK_FALSE(
        refused_adapter(R"({"peft_type": "IA3"})",
                        R"(, "load": {"quantization_config": {"load_in_4bit": true}}, "training": {"bf16": true})"));
    CHECK(is_refused(R"({"peft_type": "OFT", "target_modules": ["c_attn"]})", kUnsupported, "peft.target_modules", "",
                     "gpt2"));
    CHECK(is_refused(R"({"peft_type": "VERA"})", kUnsupported, "training.use_liger_kernel",
                     R"(, "training": {"use_liger_kernel": true})"));
    CHECK(is_refused(R"({"peft_type": "MISS", "r": 4096})", kInvalid, "peft.r"));
    CHECK(is_refused(R"({"peft_type": "RANDLORA"})", kUnsupported, "load.quantization_config",
                     R"(, "load": {"quantization_config": {"load_in_8bit": true}}, "training": {"bf16": true})"));
    CHECK(is_refused(R"({"peft_type": "VBLORA", "num_vectors": 512})", kUnsupported, "peft.num_vectors"));
}

TEST_CASE("virtual tokens: what peft has no default for, and what it stops at") {
    CHECK(is_refused(R"({"peft_type": "PROMPT_TUNING"})", kInvalid, "peft.num_virtual_tokens"));
    CHECK(is_refused(R"({"peft_type": "P_TUNING", "num_virtual_tokens": 8})", kInvalid, "peft.encoder_hidden_size"));
    CHECK(is_refused(R"({"peft_type": "PREFIX_TUNING", "num_virtual_tokens": 8, "prefix_projection": true})", kInvalid,
                     "peft.encoder_hidden_size"));
    const char* const prefix = R"({"peft_type": "PREFIX_TUNING", "num_virtual_tokens": 8})";
    CHECK_FALSE(refused_adapter(prefix));
    CHECK(is_refused(prefix, kInvalid, "training.gradient_checkpointing",
                     R"(, "training": {"gradient_checkpointing": true})"));
    CHECK(is_refused(prefix, kUnsupported, "model", "", "gemma-2-2b"));
    // GPT-2's table of positions has 1,024 rows.
    const char* const length = R"(, "batch": {"sequence_length": 1020})";
    CHECK(is_refused(R"({"peft_type": "PROMPT_TUNING", "num_virtual_tokens": 5})", kInvalid, "batch.sequence_length",
                     length, "gpt2"));
    CHECK_FALSE(refused_adapter(R"({"peft_type": "PROMPT_TUNING", "num_virtual_tokens": 4})", length, "gpt2"));
}

TEST_CASE("trained tokens: words of the model, of the embedding alone, beside LoRA or not") {
    CHECK(is_refused(R"({"peft_type": "TRAINABLE_TOKENS"})", kInvalid, "peft.token_indices"));
    CHECK(
        is_refused(R"({"peft_type": "TRAINABLE_TOKENS", "token_indices": [128256]})", kInvalid, "peft.token_indices"));
    const char* const lora = R"({"r": 8, "trainable_token_indices": {"embed_tokens": [5, 6]}})";
    const Job job = job_of_adapter(lora);
    CHECK(job.plan.peft->options.token_indices == std::vector<std::int64_t>{5, 6});
    CHECK(read_job(to_json_text(job), "job.json", {}).plan == job.plan);
    CHECK_FALSE(refused_adapter(lora));
    CHECK(is_refused(R"({"trainable_token_indices": {"lm_head": [5]}})", kUnsupported, "peft.trainable_token_indices"));
    CHECK(is_refused(R"({"trainable_token_indices": [5], "modules_to_save": ["embed_tokens"]})", kInvalid,
                     "peft.trainable_token_indices"));
    CHECK(is_refused(lora, kUnsupported, "distributed", R"(, "distributed": {"kind": "ddp", "world_size": 2})"));
}
