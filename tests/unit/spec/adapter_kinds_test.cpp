// Adapters beside LoRA: their configurations, their targets, and what is refused of them.
#include "vramfit/spec/adapter_kind.hpp"

#include <fmt/format.h>

#include "expect.hpp"
#include "spec/adapters/read.hpp"
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
        case AdapterKind::cartridge:
        case AdapterKind::prefix_tuning: return R"(, "num_virtual_tokens": 20)";
        case AdapterKind::p_tuning: return R"(, "num_virtual_tokens": 20, "encoder_hidden_size": 128)";
        case AdapterKind::trainable_tokens: return R"(, "token_indices": [1, 2])";
        case AdapterKind::adaption_prompt: return R"(, "adapter_len": 10, "adapter_layers": 4)";
        case AdapterKind::psoft: return R"(, "use_cayley_neumann": true)";
        default: return "";
    }
}

constexpr std::string_view kByTrainer = R"(, "load": {"device_map": null, "moved_by": "trainer"})";

TEST_CASE("every kind is read with the defaults of its class, written and read again") {
    for (const AdapterKindFacts& facts : adapter_kinds()) {
        INFO(facts.peft_type);
        const std::string least = fmt::format(R"({{"peft_type": "{}"{}}})", facts.peft_type, least_keys(facts.kind));
        const std::string_view more = facts.takes_apart ? kByTrainer : "";
        const Job job = job_of_adapter(least, more);
        REQUIRE(job.plan.peft);
        CHECK(job.plan.peft->kind == facts.kind);
        CHECK(job.plan.peft->r == facts.rank);
        CHECK_FALSE(refused_adapter(least, more));
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

TEST_CASE("keys of the kinds from DeLoRA on are their own") {
    const auto options = [](std::string_view peft) {
        const Job job = job_of_adapter(peft);
        CHECK(read_job(to_json_text(job), "job.json", {}).plan == job.plan);
        return job.plan.peft->options;
    };
    CHECK(options(R"({"peft_type": "GRALORA", "gralora_k": 4, "hybrid_r": 2})").hybrid_r == 2);
    CHECK(options(R"({"peft_type": "UNILORA", "theta_d_length": 99, "bias": "unilora_only"})").theta_d_length == 99);
    CHECK(options(R"({"peft_type": "LILY", "stride_A": 2, "num_B": 3})").stride_a == 2);
    CHECK(options(R"({"peft_type": "GLORA", "config_A_B": "none", "config_C": "vector"})").glora_c ==
          GloraPath::vector);
    CHECK(options(R"({"peft_type": "DEFT", "para": true, "init_scale": 2.0, "alpha": null})").para);
    CHECK(options(R"({"peft_type": "SUPERTUNING", "sparsity": 0.5, "r": 8, "lora_alpha": 16.0})").supra_r == 8);
    CHECK(options(R"({"peft_type": "SUPERTUNING", "r": null, "lora_alpha": null})").supra_r == 0);
    CHECK(options(R"({"peft_type": "PEANUT", "depth": 2, "act_fn": "silu"})").act_fn == "silu");
    CHECK(job_of_adapter(R"({"peft_type": "DELORA", "rank_pattern": {"v_proj": 4}})").plan.peft->rank_pattern.size() ==
          1);
    CHECK(job_of_adapter(R"({"peft_type": "HIRA", "rank_pattern": {"v_proj": 4}})").plan.peft->rank_pattern.empty());

    CHECK(is_refused(R"({"peft_type": "DELORA", "alpha_pattern": {}})", kInvalid, "/peft/alpha_pattern"));
    CHECK(is_refused(R"({"peft_type": "GRALORA", "exclude_modules": ["q_proj"]})", kInvalid, "/peft/exclude_modules"));
    CHECK(is_refused(R"({"peft_type": "BEFT", "r": 8})", kInvalid, "/peft/r"));
    CHECK(is_refused(R"({"peft_type": "LILY", "num_B": 1})", kInvalid, "/peft/num_B"));
    CHECK(is_refused(R"({"peft_type": "GLORA", "config_C": "constant"})", kInvalid, "/peft/config_C"));
    CHECK(is_refused(R"({"peft_type": "GLORA", "config_D_E": "lora"})", kInvalid, "/peft/config_D_E"));
    CHECK(is_refused(R"({"peft_type": "DEFT", "decomposition_method": "qr"})", kUnsupported,
                     "/peft/decomposition_method"));
    CHECK(is_refused(R"({"peft_type": "PVERA", "sample_at_inference": true})", kUnsupported,
                     "/peft/sample_at_inference"));
    CHECK(is_refused(R"({"peft_type": "PEANUT", "act_fn": "tanh"})", kUnsupported, "/peft/act_fn"));
    CHECK(is_refused(R"({"peft_type": "SUPERTUNING", "sparsity": 1.0})", kInvalid, "/peft/sparsity"));
    CHECK(is_refused(R"({"peft_type": "SUPERTUNING", "lora_alpha": 16})", kInvalid, "/peft/lora_alpha"));
    CHECK(is_refused(R"({"peft_type": "ADAMSS"})", kUnsupported, "/peft/peft_type"));
    CHECK(why_not_predicted("WaveFT").find("cuDNN") != std::string::npos);
    CHECK(why_not_predicted("POLY").find("task_ids") != std::string::npos);
    CHECK(why_not_predicted("MULTITASK_PROMPT_TUNING").find("task_ids") != std::string::npos);
    CHECK(why_not_predicted("bone").empty());
}

TEST_CASE("adaption prompts: what they need, and the networks that they fit") {
    const auto prompt = [](int layers, const char* more = "") {
        return fmt::format(R"({{"peft_type": "ADAPTION_PROMPT", "adapter_len": 10, "adapter_layers": {}{}}})", layers,
                           more);
    };
    CHECK_FALSE(refused_adapter(prompt(16)));
    CHECK_FALSE(refused_adapter(prompt(12), "", "gpt2"));
    CHECK_FALSE(refused_adapter(prompt(2, R"(, "target_modules": "self_attn")")));
    CHECK(is_refused(prompt(17), kInvalid, "peft.adapter_layers"));
    CHECK(is_refused(R"({"peft_type": "ADAPTION_PROMPT", "adapter_len": 10})", kInvalid, "peft.adapter_layers"));
    CHECK(is_refused(R"({"peft_type": "ADAPTION_PROMPT", "adapter_layers": 10})", kInvalid, "peft.adapter_len"));
    CHECK(is_refused(prompt(2, R"(, "target_modules": "mlp")"), kUnsupported, "peft.target_modules"));
    CHECK(is_refused(prompt(2), kInvalid, "peft.peft_type", "", "qwen2.5-0.5b"));
    // 32 heads of 128 in a width of 5,120.
    CHECK(is_refused(prompt(2), kInvalid, "peft.peft_type", "", "devstral-small-2505"));
    const Job job = job_of_adapter(prompt(2, R"(, "target_modules": "self_attn")"));
    CHECK(read_job(to_json_text(job), "job.json", {}).plan == job.plan);
}

TEST_CASE("variants of LoRA: one at a time, in blocks that divide") {
    const auto in_blocks = [](const char* blocks, const char* targets = R"(["q_proj", "down_proj"])") {
        return fmt::format(R"({{"r": 8, "target_modules": {}, "use_bdlora": {{{}}}}})", targets, blocks);
    };
    constexpr const char* kBoth =
        R"("target_modules_bd_a": ["down_proj"], "target_modules_bd_b": ["q_proj"], "nblocks": 4)";
    const Job job = job_of_adapter(in_blocks(kBoth));
    REQUIRE(job.plan.peft->block_diagonal);
    CHECK(job.plan.peft->block_diagonal->blocks == 4);
    CHECK(read_job(to_json_text(job), "job.json", {}).plan == job.plan);
    CHECK_FALSE(refused_adapter(in_blocks(kBoth)));
    CHECK(is_refused(in_blocks(kBoth, R"(["q_proj", "v_proj"])"), kInvalid, "peft.use_bdlora"));
    CHECK(is_refused(in_blocks(R"("target_modules_bd_a": ["proj"], "target_modules_bd_b": ["q_proj"])"), kInvalid,
                     "peft.use_bdlora"));
    CHECK_FALSE(refused_adapter(in_blocks(R"("target_modules_bd_b": ["q_proj"], "match_strict": false)")));
    CHECK(is_refused(in_blocks(R"("target_modules_bd_b": ["_proj"], "nblocks": 3)"), kInvalid,
                     "peft.use_bdlora.nblocks"));
    CHECK(is_refused(in_blocks(kBoth), kUnsupported, "peft.use_bdlora", "", "qwen2.5-0.5b"));
    CHECK(is_refused(in_blocks(kBoth), kUnsupported, "distributed",
                     R"(, "distributed": {"kind": "ddp", "world_size": 2})"));
    CHECK(is_refused(in_blocks(kBoth), kUnsupported, "load.quantization_config",
                     R"(, "load": {"quantization_config": {"load_in_4bit": true}}, "training": {"bf16": true})"));
    CHECK(is_refused(R"({"use_dora": true, "kasa_config": {}})", kInvalid, "peft.kasa_config", kByTrainer));
    CHECK(is_refused(R"({"r": 512, "kasa_config": {}})", kInvalid, "peft.r", kByTrainer));
    CHECK_FALSE(refused_adapter(R"({"r": 32, "kasa_config": {"beta": 0.0001, "gamma": 0.001}})", kByTrainer));
}

TEST_CASE("adapters of parts of the weights: the network is in host memory when they are made") {
    for (const char* peft : {R"({"peft_type": "TINYLORA"})", R"({"peft_type": "OSF"})", R"({"kasa_config": {}})",
                             R"({"init_lora_weights": "pissa"})", R"({"init_lora_weights": "pissa_niter_4"})",
                             R"({"init_lora_weights": "olora"})"}) {
        INFO(peft);
        CHECK(is_refused(peft, kUnsupported, "load.moved_by"));
        CHECK(is_refused(peft, kUnsupported, "load.moved_by", R"(, "load": {"device_map": null})"));
        CHECK_FALSE(refused_adapter(peft, kByTrainer));
    }
    CHECK_FALSE(refused_adapter(R"({"r": 8})", kByTrainer));
    CHECK(is_refused(R"({"peft_type": "IA3"})", kUnsupported, "load.device_map", R"(, "load": {"device_map": null})"));
    CHECK_FALSE(refused_adapter(R"({"peft_type": "IA3"})", kByTrainer));
    CHECK(is_refused(R"({"peft_type": "VBLORA"})", kUnsupported, "load.moved_by", kByTrainer));
    CHECK(is_refused(R"({"r": 8})", kInvalid, "load.moved_by", R"(, "load": {"moved_by": "trainer"})"));
    CHECK(is_refused(R"({"r": 8})", kUnsupported, "load.moved_by",
                     fmt::format(R"({}, "loop": {{"kind": "plain"}})", kByTrainer)));
    CHECK(is_refused(R"({"peft_type": "PSOFT"})", kUnsupported, "peft.use_cayley_neumann", kByTrainer));
    CHECK(is_refused(R"({"peft_type": "PSOFT", "use_cayley_neumann": true, "cayley_neumann_eps": 0.9})", kUnsupported,
                     "/peft/cayley_neumann_eps", kByTrainer));
    CHECK(is_refused(R"({"peft_type": "PSOFT", "psoft_orth": false, "r": 4096})", kInvalid, "peft.r", kByTrainer));
    CHECK(is_refused(R"({"peft_type": "OSF", "effective_rank": 0})", kInvalid, "peft.effective_rank", kByTrainer));
    CHECK(
        is_refused(R"({"peft_type": "OSF", "effective_rank": 1.0})", kUnsupported, "peft.effective_rank", kByTrainer));
    const Job osf = job_of_adapter(
        R"({"peft_type": "OSF", "effective_rank": 0.25, "rank_pattern": {"q_proj": 100, "mlp": 0.5}})", kByTrainer);
    CHECK(read_job(to_json_text(osf), "job.json", {}).plan == osf.plan);
    const NamedModule query{"model.layers.0.self_attn.q_proj", ModuleKind::linear, 0, 2048, 2048};
    const NamedModule up{"model.layers.0.mlp.up_proj", ModuleKind::linear, 0, 2048, 8192};
    const NamedModule key{"model.layers.0.self_attn.k_proj", ModuleKind::linear, 0, 2048, 512};
    CHECK(osf_rank(osf.plan.peft->options, query) == 100);
    CHECK(osf_rank(osf.plan.peft->options, up) == 1024);
    CHECK(osf_rank(osf.plan.peft->options, key) == 128);
    CHECK(osf_rank({}, key) == 256);
}

TEST_CASE("what peft stops at of the kinds from DeLoRA on, and what was not compared") {
    CHECK(is_refused(R"({"peft_type": "GRALORA", "r": 9})", kInvalid, "peft.r"));
    CHECK(is_refused(R"({"peft_type": "GRALORA", "r": 9, "gralora_k": 3})", kInvalid, "peft.gralora_k"));
    CHECK(is_refused(R"({"peft_type": "DEFT", "r": 1024})", kUnsupported, "peft.r"));
    CHECK(is_refused(R"({"peft_type": "SUPERTUNING", "sparsity": 0.9999999})", kInvalid, "peft.sparsity"));
    CHECK(is_refused(R"({"peft_type": "LILY", "target_modules": "all-linear"})", kUnsupported, "peft.target_modules"));
    CHECK(is_refused(R"({"peft_type": "LILY", "target_modules": ["q_proj", "self_attn.q_proj"]})", kUnsupported,
                     "peft.target_modules"));
    CHECK_FALSE(refused_adapter(R"({"peft_type": "LILY", "target_modules": ["q_proj", "down_proj"]})"));
    CHECK(is_refused(R"({"peft_type": "GLORA", "target_modules": ["c_attn"]})", kUnsupported, "peft.target_modules", "",
                     "gpt2"));
    CHECK_FALSE(refused_adapter(R"({"peft_type": "GRALORA", "target_modules": ["c_attn"]})", "", "gpt2"));
    const char* const in_4_bit = R"(, "load": {"quantization_config": {"load_in_4bit": true}})";
    CHECK(is_refused(R"({"peft_type": "HIRA"})", kUnsupported, "load.quantization_config", in_4_bit));
    CHECK(is_refused(R"({"peft_type": "PVERA"})", kUnsupported, "load.quantization_config", in_4_bit));
    CHECK_FALSE(refused_adapter(R"({"peft_type": "UNILORA"})", in_4_bit));
    for (const char* peft :
         {R"({"peft_type": "DELORA"})", R"({"peft_type": "GLORA"})", R"({"peft_type": "SUPERTUNING"})"})
        CHECK(is_refused(peft, kInvalid, "load.quantization_config", in_4_bit));
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
    CHECK(names("BEFT", "qwen2.5-0.5b") == Names{"v_proj"});
    CHECK(names("DELORA", "gpt2") == Names{"c_attn"});
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
    CHECK(is_refused(R"({"peft_type": "CARTRIDGE", "num_virtual_tokens": 4, "num_frozen_tokens": 4})", kInvalid,
                     "peft.num_frozen_tokens"));
    CHECK(is_refused(R"({"peft_type": "CARTRIDGE", "num_virtual_tokens": 4})", kInvalid,
                     "training.gradient_checkpointing", R"(, "training": {"gradient_checkpointing": true})"));
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
