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

TEST_CASE("axolotl's FSDP2 is prepared by axolotl, FSDP1 by accelerate") {
    const auto read_with = [](const std::string& more) {
        TrainerQuestion question;
        question.files = {
            {"t.yaml",
             "base_model: llama-3.2-1b\ndatasets: []\nsequence_len: 64\nsample_packing: true\n"
             "micro_batch_size: 1\nattn_implementation: sdpa\nbf16: true\ngradient_checkpointing: true\n" +
                 more}};
        question.stack = stack_from("").stack;
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
