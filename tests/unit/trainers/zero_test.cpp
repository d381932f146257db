// DeepSpeed in its own file, in a trainer's and in accelerate's: every key, places of refusals, files that are named.
#include <algorithm>

#include <fmt/format.h>

#include "support/catch.hpp"
#include "unit/trainers/asked.hpp"
#include "unit/trainers/outcome.hpp"
#include "vramfit/base/error.hpp"
#include "vramfit/spec/job.hpp"
#include "vramfit/spec/stacks.hpp"
#include "vramfit/trainers/reading.hpp"

using namespace vramfit;
using test::asked_of;
using vramfit::test::outcome;

namespace {

const std::string kSft =
    "model_name_or_path: llama-3.2-1b\nper_device_train_batch_size: 2\nmax_length: 512\ndtype: bfloat16\n";
const std::string kAccelerateZero =
    "distributed_type: DEEPSPEED\nnum_processes: 8\nmixed_precision: bf16\ndeepspeed_config:\n";

Reading zero_reading(const std::string& accelerate) {
    return read_trainer_files(asked_of({{"t.yaml", kSft}, {"a.yaml", accelerate}}));
}

}  // namespace

TEST_CASE("accelerate's DeepSpeed without a file of its own: stage 2, sizes as DeepSpeed has them") {
    const Reading bare = zero_reading(kAccelerateZero + "  zero3_init_flag: false\n");
    REQUIRE(bare.refusals.empty());
    REQUIRE(bare.job.plan.distributed);
    CHECK(bare.job.plan.distributed->world_size == 8);
    const ZeroPlan& plan = *bare.job.plan.distributed->as<ZeroPlan>();
    CHECK(plan.stage == 2);
    CHECK(plan.reduce_bucket_size == 500'000'000);  // not "auto"
    CHECK(plan.bf16 == true);
    CHECK(!plan.gradient_clipping);  // "auto"
    CHECK(!plan.gradient_accumulation_steps);
    CHECK(!plan.own_optimizer);
    const Reading full = zero_reading(kAccelerateZero +
                                      "  zero_stage: 3\n  offload_optimizer_device: cpu\n"
                                      "  offload_param_device: cpu\n  gradient_accumulation_steps: 1\n");
    const ZeroPlan& three = *full.job.plan.distributed->as<ZeroPlan>();
    CHECK(three.stage == 3);
    CHECK((three.offload_optimizer && three.offload_param));
    CHECK(full.input("distributed.deepspeed.gradient_accumulation_steps")->place == FilePlace{"a.yaml", {8, 3}});
}

TEST_CASE("a precision that only accelerate says stops a Trainer under DeepSpeed") {
    TrainerQuestion question = asked_of({{"t.yaml", kSft + "bf16: false\n"}, {"a.yaml", kAccelerateZero}});
    CHECK_THROWS_AS(read_trainer_files(question), Error);
}

TEST_CASE("every DeepSpeed key of accelerate changes the plan, is refused, or does nothing, as its table says") {
    const std::vector<KnownTrainer> all = known_trainers();
    const auto known = std::find_if(all.begin(), all.end(), [](const auto& each) { return each.name == "accelerate"; });
    int tested = 0;
    for (const KnownKey& key : known->keys) {
        if (!key.key.starts_with("deepspeed_config.")) continue;
        INFO(key.key);
        const auto with = [&key](const std::string& value) {
            const std::string text = fmt::format("{}  {}: {}\n", kAccelerateZero, key.key.substr(17), value);
            return asked_of({{"t.yaml", kSft}, {"a.yaml", text}});
        };
        const std::size_t bar = key.samples.find('|');
        if (key.use == KeyUse::used) {
            REQUIRE(bar != std::string::npos);
            CHECK(outcome(with(key.samples.substr(0, bar))) != outcome(with(key.samples.substr(bar + 1))));
        } else if (key.use == KeyUse::unsupported) {
            const Reading reading = read_trainer_files(with("some-value"));
            REQUIRE(!reading.refusals.empty());
            CHECK(reading.refusals.front().key == key.key);
            CHECK(reading.refusals.front().place == FilePlace{"a.yaml", {5, 3}});
        } else {
            CHECK(outcome(with("some-value")) == outcome(asked_of({{"t.yaml", kSft}, {"a.yaml", kAccelerateZero}})));
        }
        ++tested;
    }
    CHECK(tested > 12);
}

TEST_CASE("every key of DeepSpeed's file that matters changes the plan or is refused at its place") {
    const auto with = [](const std::string& zero, const std::string& top) {
        TrainerQuestion question = asked_of({{"t.yaml", kSft}});
        question.files.push_back({"ds.json", fmt::format("{{\"bf16\": {{\"enabled\": \"auto\"}},\n"
                                                         " \"zero_optimization\": {{\"stage\": 3,\n  {}\n }}{}\n}}",
                                                         zero, top)});
        question.gpus = 4;
        return question;
    };
    const std::string plain = outcome(with("\"overlap_comm\": null", ""));
    for (const char* zero :
         {"\"stage\": 2", "\"reduce_bucket_size\": 1000", "\"overlap_comm\": false", "\"contiguous_gradients\": false",
          "\"reduce_scatter\": false", "\"offload_optimizer\": {\"device\": \"cpu\"}",
          "\"offload_param\": {\"device\": \"cpu\"}", "\"stage3_prefetch_bucket_size\": 10",
          "\"stage3_param_persistence_threshold\": \"auto\"", "\"stage3_max_live_parameters\": 10",
          "\"stage3_max_reuse_distance\": 10", "\"sub_group_size\": 10"}) {
        INFO(zero);
        CHECK(outcome(with(zero, "")) != plain);
    }
    // The fields' own names (runtime/zero/config.py, populate_by_name); there "auto" is DeepSpeed's default.
    for (const char* key :
         {"prefetch_bucket_size", "param_persistence_threshold", "max_live_parameters", "max_reuse_distance"}) {
        INFO(key);
        CHECK(outcome(with(fmt::format("\"{}\": 10", key), "")) ==
              outcome(with(fmt::format("\"stage3_{}\": 10", key), "")));
        CHECK(outcome(with(fmt::format("\"{}\": \"auto\"", key), "")) == plain);
    }
    for (const char* top : {", \"gradient_clipping\": 0.5", ", \"optimizer\": {\"type\": \"AdamW\"}",
                            ", \"gradient_accumulation_steps\": 2", ", \"train_micro_batch_size_per_gpu\": 3",
                            ", \"train_batch_size\": 3"}) {
        INFO(top);
        CHECK(outcome(with("\"overlap_comm\": null", top)) != plain);
    }
    for (const char* name :
         {"round_robin_gradients", "zero_hpz_partition_size", "zero_quantized_weights", "zero_quantized_gradients",
          "mics_shard_size", "super_offload", "cpu_offload", "memory_efficient_linear"}) {
        const bool off = std::string_view(name) == "memory_efficient_linear";
        const Reading reading = read_trainer_files(with(fmt::format("\"{}\": {}", name, off ? "false" : "true"), ""));
        INFO(name);
        REQUIRE(reading.refusals.size() == 1);
        CHECK(reading.refusals.front().key == fmt::format("zero_optimization.{}", name));
        CHECK(reading.refusals.front().place == FilePlace{"ds.json", {3, 3}});
    }
    for (const char* top : {"amp", "compression_training", "data_types", "communication_data_type"}) {
        const Reading reading =
            read_trainer_files(with("\"overlap_comm\": null", fmt::format(", \"{}\": {{\"x\": 1}}", top)));
        INFO(top);
        REQUIRE(reading.refusals.size() == 1);
        CHECK(reading.refusals.front().place == FilePlace{"ds.json", {4, 5}});
    }
    try {
        read_trainer_files(with("\"a_key_that_is_new\": true", ""));
        FAIL("no error");
    } catch (const Error& error) {
        CHECK(error.problems().front().where == "ds.json:3:3 zero_optimization.a_key_that_is_new");
    }
}

TEST_CASE("DeepSpeed's file is found where the trainer's names it, or inside of it") {
    const std::string json = "{\"zero_optimization\": {\"stage\": 1}, \"bf16\": {\"enabled\": true}}";
    TrainerQuestion question = asked_of({{"run/configs/t.yaml", kSft + "deepspeed: ds/one.json\n"}});
    question.gpus = 2;
    CHECK(read_trainer_files(question).refusals.front().place == FilePlace{"run/configs/t.yaml", {5, 1}});
    std::vector<std::string> tried;
    question.open = [&](const std::string& path) -> std::optional<std::string> {
        tried.push_back(path);
        return path == "run/ds/one.json" ? std::optional(json) : std::nullopt;
    };
    const Reading reading = read_trainer_files(question);
    REQUIRE(reading.refusals.empty());
    CHECK(reading.job.plan.distributed->as<ZeroPlan>()->stage == 1);
    CHECK(reading.files.back().name == "run/ds/one.json");
    CHECK(tried == std::vector<std::string>{"ds/one.json", "run/configs/ds/one.json", "run/ds/one.json"});
    question.assume_off = {"deepspeed"};
    CHECK(read_trainer_files(question).job.plan.distributed->as<DdpPlan>());

    TrainerQuestion inside = asked_of(
        {{"t.yaml",
          kSft + "deepspeed:\n  zero_optimization:\n    stage: 2\n    zenflow: {}\n  bf16: {enabled: true}\n"}});
    inside.gpus = 2;
    const Reading refused = read_trainer_files(inside);
    REQUIRE(refused.refusals.size() == 1);
    CHECK(refused.refusals.front().place == FilePlace{"t.yaml", {8, 5}});
    inside.assume_off = {"zero_optimization.zenflow"};
    CHECK(read_trainer_files(inside).job.plan.distributed->as<ZeroPlan>()->stage == 2);
}

TEST_CASE("trainers load the network on the card before ZeRO-1 and 2 divide what belongs to it, but not under ZeRO-3") {
    const auto loads_on_card = [](const char* text, int stage) {
        TrainerQuestion question =
            asked_of({{"t.yaml", text}, {"a.yaml", fmt::format("{}  zero_stage: {}\n", kAccelerateZero, stage)}});
        question.gpus = 4;
        question.edits = {{"bf16", "true"}};
        const Reading reading = read_trainer_files(question);
        CHECK(reading.refusals.empty());
        REQUIRE(reading.job.plan.distributed);
        return reading.job.plan.distributed->load_on_device;
    };
    for (const char* text :
         {"base_model: llama-3.2-1b\ndatasets: []\nsequence_len: 512\nmicro_batch_size: 2\nflash_attention: true\n",
          "model_name_or_path: llama-3.2-1b\nstage: sft\ndo_train: true\nfinetuning_type: full\ntemplate: x\n",
          "model: llama-3.2-1b\ntrain_type: full\nmax_length: 512\n"}) {
        INFO(text);
        CHECK(loads_on_card(text, 1));
        CHECK(loads_on_card(text, 2));
        CHECK(!loads_on_card(text, 3));
    }
}

TEST_CASE("what axolotl casts before the trainer is cut already under ZeRO-3 alone") {
    const auto upcast = [](int stage) {
        TrainerQuestion question =
            asked_of({{"t.yaml",
                       "base_model: llama-3.2-1b\ndatasets: []\nsequence_len: 512\nmicro_batch_size: 2\nbf16: true\n"
                       "flash_attention: true\n"},
                      {"a.yaml", fmt::format("{}  zero_stage: {}\n", kAccelerateZero, stage)}});
        question.gpus = 4;
        return read_trainer_files(question).job.plan.load.upcast.has_value();
    };
    CHECK(upcast(2));
    CHECK(!upcast(3));
}

TEST_CASE("what trainers do with quantized networks before ZeRO-3 gets them is refused") {
    const auto refusal = [](const std::string& text, const char* stage) {
        TrainerQuestion question =
            asked_of({{"t.yaml", text}, {"a.yaml", fmt::format("{}  zero_stage: {}\n", kAccelerateZero, stage)}});
        question.gpus = 4;
        std::string all;
        for (const Refusal& each : read_trainer_files(question).refusals) all += each.what;
        return all;
    };
    const std::string axolotl =
        "base_model: llama-3.2-1b\ndatasets: []\nsequence_len: 512\nmicro_batch_size: 2\nbf16: true\n"
        "adapter: qlora\nload_in_4bit: true\nlora_r: 8\nlora_alpha: 8\nlora_target_linear: true\n";
    CHECK(refusal(axolotl, "3").find("between loading a quantized network and ZeRO-3") != std::string::npos);
    const std::string factory =
        "model_name_or_path: llama-3.2-1b\nstage: sft\ndo_train: true\nfinetuning_type: lora\ntemplate: x\n"
        "bf16: true\nquantization_bit: ";
    CHECK(refusal(factory + "8\n", "3").find("Only 4-bit quantized model") != std::string::npos);
    CHECK(refusal(factory + "4\n", "3").empty());
}
