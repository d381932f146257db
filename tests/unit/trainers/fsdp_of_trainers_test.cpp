// FSDP under trainers that prepare the network themselves.
#include <fmt/format.h>
#include <algorithm>
#include "support/catch.hpp"
#include "vramfit/base/error.hpp"
#include "vramfit/spec/stacks.hpp"
#include "vramfit/trainers/reading.hpp"

using namespace vramfit;

TEST_CASE("LLaMA-Factory under FSDP loads in host memory, in the checkpoint's dtype, or is refused") {
    const auto read_with = [](const std::string& options, const std::string& more) {
        TrainerQuestion question;
        question.files = {{"t.yaml",
                           "model_name_or_path: llama-3.2-1b\nstage: sft\ndo_train: true\ntemplate: x\ncutoff_len: 64\n"
                           "packing: true\nper_device_train_batch_size: 1\nfp16: true\n" +
                               more},
                          {"a.yaml",
                           "distributed_type: FSDP\nnum_processes: 4\nmixed_precision: fp16\nfsdp_config:\n"
                           "  fsdp_auto_wrap_policy: TRANSFORMER_BASED_WRAP\n" +
                               options}};
        question.stack = stack_from("").stack;
        return read_trainer_files(question);
    };
    const Reading lora = read_with("", "finetuning_type: lora\n");
    REQUIRE(lora.refusals.empty());
    const TrainPlan& plan = lora.job.plan;
    CHECK(plan.load.dtype == DType::bfloat16);  // fp16 does not say it
    CHECK_FALSE(plan.distributed->load_on_device);
    CHECK(plan.distributed->as<Fsdp1Plan>()->cpu_ram_efficient_loading);
    CHECK(plan.training.use_reentrant == true);
    const Reading full = read_with("", "finetuning_type: full\n");
    CHECK(full.job.plan.load.dtype == DType::float32);
    CHECK(read_with("  fsdp_cpu_ram_efficient_loading: false\n", "finetuning_type: lora\n").refusals.size() == 1);
    CHECK(read_with("  fsdp_version: 2\n", "finetuning_type: lora\n").refusals.size() == 1);
}

namespace {

const std::string kLora = "adapter: lora\nlora_r: 8\nlora_alpha: 16\nlora_target_modules: [q_proj]\n";

TrainerQuestion of_axolotl(const std::string& model, const std::string& more) {
    TrainerQuestion question;
    question.files = {{"t.yaml", "base_model: " + model +
                                     "\ndatasets: []\nsequence_len: 64\nsample_packing: true\nmicro_batch_size: 1\n"
                                     "attn_implementation: sdpa\nbf16: true\ngradient_checkpointing: true\n" +
                                     more}};
    question.stack = stack_from("").stack;
    return question;
}

}  // namespace

TEST_CASE("axolotl's FSDP2 is prepared by axolotl, FSDP1 by accelerate") {
    const auto read_with = [](const std::string& more) {
        TrainerQuestion question = of_axolotl("llama-3.2-1b", more);
        question.gpus = 2;
        return read_trainer_files(question);
    };
    const Reading second = read_with("fsdp_version: 2\nfsdp_config:\n  offload_params: true\n");
    REQUIRE(second.refusals.empty());
    const Fsdp2Plan* const plan = second.job.plan.distributed->as<Fsdp2Plan>();
    REQUIRE(plan);
    CHECK(plan->prepared_by == FsdpPreparation::axolotl);
    CHECK(plan->cpu_offload);
    CHECK(second.job.plan.load.dtype == DType::bfloat16);
    CHECK_FALSE(second.job.plan.load.upcast);
    CHECK(second.job.plan.training.use_reentrant == true);
    const Reading first = read_with("fsdp_config:\n  use_orig_params: false\ngradient_checkpointing_kwargs: {}\n");
    REQUIRE(first.job.plan.distributed->as<Fsdp1Plan>());
    CHECK_FALSE(first.job.plan.distributed->as<Fsdp1Plan>()->use_orig_params);
    CHECK_THROWS_AS(read_with("fsdp: [full_shard]\n"), Error);
    CHECK_THROWS_AS(
        read_with("optimizer: adamw_bnb_8bit\nfsdp_version: 2\nfsdp_config: {reshard_after_forward: true}\n"), Error);
}

// axolotl 0.18 utils/trainer.py setup_parallelism_envs.
TEST_CASE("axolotl's dp_shard_size and dp_replicate_size say how many cards there are") {
    const std::string fsdp = "fsdp_version: 2\nfsdp_config: {reshard_after_forward: true}\n";
    const auto question = [](const std::string& more) { return of_axolotl("llama-3.2-1b", more); };
    const Reading hybrid = read_trainer_files(question(fsdp + "dp_shard_size: 4\ndp_replicate_size: 2\n"));
    REQUIRE(hybrid.refusals.empty());
    CHECK(hybrid.job.plan.distributed->world_size == 8);
    CHECK(hybrid.job.plan.distributed->as<Fsdp2Plan>()->replicas == 2);
    TrainerQuestion shards = question(fsdp + "dp_shard_size: 4\n");
    CHECK(read_trainer_files(shards).job.plan.distributed->world_size == 4);
    shards.gpus = 8;
    CHECK_THROWS_WITH(read_trainer_files(shards), Catch::Contains("total_size (4) does not match num_processes (8)"));
    CHECK_THROWS_WITH(read_trainer_files(question("dp_shard_size: 4\n")),
                      Catch::Contains("without a corresponding fsdp_config"));
    CHECK(read_trainer_files(question(kLora + "dp_replicate_size: 2\n")).refusals.size() == 1);
    CHECK(read_trainer_files(question(fsdp + "dp_replicate_size: 2\n")).refusals.size() >= 1);
}

TEST_CASE("axolotl's model_config asks for the loss that balances experts, and for nothing else") {
    const auto with = [](const std::string& more) {
        return read_trainer_files(of_axolotl("mixtral-8x7b-v0.1", kLora + more));
    };
    CHECK_FALSE(with("").job.model.mixture->output_router_logits);
    for (const char* key : {"model_config", "overrides_of_model_config"}) {
        const Reading asked = with(std::string(key) + ":\n  output_router_logits: true\n");
        CHECK(asked.refusals.empty());
        CHECK(asked.job.model.mixture->output_router_logits);
        const Reading other = with(std::string(key) + ":\n  num_hidden_layers: 2\n");
        REQUIRE(other.refusals.size() == 1);
        CHECK(other.refusals.front().key == std::string(key) + ".num_hidden_layers");
    }
}
