// FSDP in trainers' and accelerate's files: every key, defaults, refusals with their places.
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

constexpr const char* kTrainer =
    "{\"per_device_train_batch_size\": 4, \"output_dir\": \"x\", \"model_name_or_path\": \"llama-3.2-1b\", "
    "\"bf16\": true, \"block_size\": 512";
constexpr const char* kAccelerate = "distributed_type: FSDP\nnum_processes: 8\nmixed_precision: bf16\nfsdp_config:\n";
constexpr const char* kOptions = "  fsdp_version: 2\n  fsdp_auto_wrap_policy: TRANSFORMER_BASED_WRAP\n";

/// A run of transformers' Trainer with further keys, and a file of accelerate or none.
TrainerQuestion run_of(const std::string& keys, const std::string& accelerate = {}) {
    TrainerQuestion question = asked_of({{"t.json", fmt::format("{}{}}}", kTrainer, keys)}});
    if (!accelerate.empty()) question.files.push_back({"a.yaml", accelerate});
    question.format_of = "training-args";
    return question;
}

const Refusal* only_refusal(const Reading& reading) {
    return reading.refusals.size() == 1 ? &reading.refusals.front() : nullptr;
}

const KnownTrainer& accelerate_keys() {
    static const std::vector<KnownTrainer> all = known_trainers();
    return *std::find_if(all.begin(), all.end(), [](const KnownTrainer& known) { return known.name == "accelerate"; });
}

}  // namespace

TEST_CASE("accelerate's FSDP2: values of the file, and the launcher's defaults") {
    const Reading bare = read_trainer_files(run_of("", std::string(kAccelerate) + kOptions));
    REQUIRE(bare.refusals.empty());
    const DistributedPlan& processes = *bare.job.plan.distributed;
    REQUIRE(processes.as<Fsdp2Plan>());
    CHECK(processes.world_size == 8);
    CHECK(!processes.load_on_device);
    CHECK(processes.as<Fsdp2Plan>()->reshard_after_forward);
    CHECK(processes.as<Fsdp2Plan>()->cpu_ram_efficient_loading);  // commands/launch.py: "true"
    CHECK(!processes.as<Fsdp2Plan>()->activation_checkpointing);
    const Reading full = read_trainer_files(run_of(
        "", std::string(kAccelerate) + kOptions +
                "  reshard_after_forward: false\n  fsdp_activation_checkpointing: true\n"
                "  fsdp_cpu_ram_efficient_loading: false\n  fsdp_transformer_layer_cls_to_wrap: LlamaDecoderLayer\n"
                "  fsdp_state_dict_type: SHARDED_STATE_DICT\n  fsdp_backward_prefetch: BACKWARD_PRE\n"));
    REQUIRE(full.refusals.empty());
    Fsdp2Plan expected{false, true, false};
    expected.layer_classes = {"LlamaDecoderLayer"};
    CHECK(*full.job.plan.distributed->as<Fsdp2Plan>() == expected);
    CHECK(full.input("distributed.fsdp_config.reshard_after_forward")->place == FilePlace{"a.yaml", {7, 3}});
    CHECK(full.notes.size() == 1);  // the length
}

TEST_CASE("TrainingArguments' FSDP: version 2, weights loaded everywhere, older words") {
    TrainerQuestion question = run_of(", \"fsdp\": true");
    question.gpus = 4;
    CHECK(*read_trainer_files(question).job.plan.distributed->as<Fsdp2Plan>() == Fsdp2Plan{});
    const auto plan_of = [](const char* keys) {
        TrainerQuestion asked = run_of(keys);
        asked.gpus = 4;
        const Reading reading = read_trainer_files(asked);
        REQUIRE(reading.refusals.empty());
        return *reading.job.plan.distributed->as<Fsdp2Plan>();
    };
    CHECK(!plan_of(", \"fsdp\": \"shard_grad_op auto_wrap\"").reshard_after_forward);
    CHECK(plan_of(", \"fsdp\": \"full_shard offload\"").cpu_offload);
    CHECK(plan_of(", \"fsdp\": true, \"fsdp_config\": {\"cpu_offload\": \"false\"}").cpu_offload);  // Python's truth
    CHECK(plan_of(", \"fsdp\": [\"shard_grad_op\"], \"fsdp_config\": {\"fsdp_reshard_after_forward\": \"True\"}")
              .reshard_after_forward);
    question = run_of(", \"fsdp\": \"\", \"fsdp_config\": {\"version\": 1}");
    question.gpus = 4;
    CHECK(read_trainer_files(question).job.plan.distributed->as<DdpPlan>());
    question = run_of(", \"fsdp\": \"hybrid_shard\"");
    question.gpus = 4;
    CHECK_THROWS_AS(read_trainer_files(question), Error);
}

TEST_CASE("FSDP1: accelerate's default version, and TrainingArguments' version 1") {
    const std::string one =
        std::string(kAccelerate) +
        "  fsdp_auto_wrap_policy: TRANSFORMER_BASED_WRAP\n  fsdp_cpu_ram_efficient_loading: false\n";
    const auto plan_of = [](const TrainerQuestion& question) {
        const Reading reading = read_trainer_files(question);
        REQUIRE(reading.refusals.empty());
        REQUIRE(reading.job.plan.distributed->as<Fsdp1Plan>());
        return *reading.job.plan.distributed->as<Fsdp1Plan>();
    };
    CHECK(plan_of(run_of("", one)) == Fsdp1Plan{});
    CHECK(plan_of(run_of("", std::string(kAccelerate) + "  fsdp_auto_wrap_policy: TRANSFORMER_BASED_WRAP\n")) ==
          Fsdp1Plan{.cpu_ram_efficient_loading = true});  // one process loads and sends
    CHECK(plan_of(run_of("", one + "  fsdp_backward_prefetch: BACKWARD_PRE\n")) ==
          Fsdp1Plan{.backward_prefetch = BackwardPrefetch::pre});
    CHECK(plan_of(run_of("", one + "  fsdp_sync_module_states: false\n  activation_checkpointing: true\n")) ==
          Fsdp1Plan{.sync_module_states = false, .activation_checkpointing = true});
    CHECK(plan_of(run_of("", one + "  fsdp_reshard_after_forward: SHARD_GRAD_OP\n")) == Fsdp1Plan{});  // no effect
    CHECK(plan_of(run_of("", one + "  fsdp_backward_prefetch: BACKWARD_POST\n  fsdp_forward_prefetch: true\n")) ==
          Fsdp1Plan{.backward_prefetch = BackwardPrefetch::post, .forward_prefetch = true});
    CHECK(plan_of(run_of("", one + "  fsdp_offload_params: true\n")) == Fsdp1Plan{.cpu_offload = true});
    CHECK(plan_of(run_of("", one + "  fsdp_sharding_strategy: 2\n")) ==
          Fsdp1Plan{.sharding_strategy = FsdpStrategy::shard_grad_op});
    CHECK(plan_of(run_of("", one + "  fsdp_sharding_strategy: 3\n")) ==
          Fsdp1Plan{.sharding_strategy = FsdpStrategy::no_shard});
    CHECK(plan_of(run_of("", one + "  fsdp_sharding_strategy: HYBRID_SHARD_ZERO2\n  fsdp_use_orig_params: false\n")) ==
          Fsdp1Plan{.sharding_strategy = FsdpStrategy::hybrid_shard_zero2, .use_orig_params = false});
    TrainerQuestion arguments = run_of(", \"fsdp\": \"full_shard\", \"fsdp_config\": {\"version\": 1}");
    arguments.gpus = 4;
    CHECK(plan_of(arguments) == Fsdp1Plan{});
    arguments = run_of(", \"fsdp\": \"full_shard\", \"fsdp_config\": {\"version\": 1, \"limit_all_gathers\": false}");
    arguments.gpus = 4;
    CHECK(plan_of(arguments) == Fsdp1Plan{.limit_all_gathers = false});
    const auto unread = read_trainer_files(run_of("", one + "  fsdp_reshard_after_forward: HYBRID_SHARD\n")).notes;
    CHECK(std::any_of(unread.begin(), unread.end(), [](const ReadingNote& note) {
        return note.text.starts_with("fsdp_config.fsdp_reshard_after_forward HYBRID_SHARD has no effect under FSDP1");
    }));
    // What TrainingArguments call a strategy, accelerate does not read.
    arguments = run_of(", \"fsdp\": \"hybrid_shard auto_wrap\", \"fsdp_config\": {\"version\": 1}");
    arguments.gpus = 4;
    CHECK(plan_of(arguments) == Fsdp1Plan{});
    const auto notes = read_trainer_files(arguments).notes;
    CHECK(std::any_of(notes.begin(), notes.end(), [](const ReadingNote& note) {
        return note.text == "fsdp HYBRID_SHARD has no effect under FSDP1: accelerate 1.15 takes FULL_SHARD";
    }));
    const Reading reading = read_trainer_files(run_of("", one + "  fsdp_backward_prefetch: LATER\n"));
    REQUIRE(only_refusal(reading));
    CHECK(only_refusal(reading)->place == FilePlace{"a.yaml", {7, 3}});
    CHECK_THROWS_AS(read_trainer_files(run_of("", one + "  fsdp_sharding_strategy: HALF\n")), Error);
}

TEST_CASE("FSDP1's hybrid strategies cut over the cards of a machine") {
    const auto read = [](const char* machines) {
        return read_trainer_files(run_of("", std::string(kAccelerate) +
                                                 "  fsdp_auto_wrap_policy: TRANSFORMER_BASED_WRAP\n"
                                                 "  fsdp_sharding_strategy: HYBRID_SHARD\n" +
                                                 machines));
    };
    CHECK(read("").job.plan.distributed->shard_size() == 8);
    CHECK(read("num_machines: 2\n").job.plan.distributed->shard_size() == 4);
    CHECK(only_refusal(read("num_machines: 3\n")));
}

TEST_CASE("every FSDP key of accelerate changes the plan, is refused, or does nothing, as its table says") {
    int tested = 0;
    for (const KnownKey& key : accelerate_keys().keys) {
        if (!key.key.starts_with("fsdp_config.")) continue;
        const std::string name = key.key.substr(12);
        const auto text = [&name](const std::string& value) {
            std::string options = kOptions;
            if (name.ends_with("version")) options = "  fsdp_auto_wrap_policy: TRANSFORMER_BASED_WRAP\n";
            if (name.ends_with("auto_wrap_policy")) options = "  fsdp_version: 2\n";
            return fmt::format("{}{}  {}: {}\n", kAccelerate, options, name, value);
        };
        INFO(key.key);
        const std::size_t bar = key.samples.find('|');
        if (key.use == KeyUse::used && bar != std::string::npos) {
            CHECK(outcome(run_of("", text(key.samples.substr(0, bar)))) !=
                  outcome(run_of("", text(key.samples.substr(bar + 1)))));
        } else if (key.use == KeyUse::unsupported) {
            const Reading reading = read_trainer_files(run_of("", text("some-value")));
            REQUIRE(only_refusal(reading));
            CHECK(only_refusal(reading)->key == key.key);
            CHECK(only_refusal(reading)->place == FilePlace{"a.yaml", {7, 3}});
        } else if (key.use == KeyUse::harmless) {
            CHECK(outcome(run_of("", text("some-value"))) == outcome(run_of("", std::string(kAccelerate) + kOptions)));
        }
        ++tested;
    }
    CHECK(tested > 30);
}

TEST_CASE("every other key of accelerate that is used changes the plan, whatever it is set to otherwise") {
    int tested = 0;
    for (const KnownKey& key : accelerate_keys().keys) {
        const std::size_t bar = key.samples.find('|');
        if (key.use != KeyUse::used || bar == std::string::npos || key.key.find('.') != std::string::npos) continue;
        // Arguments of launchers count with their own switch; the network has no precision of its own to hide one.
        const std::string kind = key.key.starts_with("fsdp_")                  ? "FSDP"
                                 : key.says.find("deepspeed") != key.says.npos ? "DEEPSPEED"
                                                                               : "NO";
        const auto text = [&](const std::string& value) {
            std::string out = key.key == "distributed_type" ? "" : fmt::format("distributed_type: {}\n", kind);
            if (kind != "NO" || key.key == "distributed_type") out += "num_processes: 8\n";
            if (kind == "FSDP") out += "fsdp_config:\n  fsdp_state_dict_type: FULL_STATE_DICT\n";
            if (kind == "FSDP" && key.key != "fsdp_version") out += "fsdp_version: 2\n";
            if (kind == "FSDP" && key.key != "fsdp_auto_wrap_policy")
                out += "fsdp_auto_wrap_policy: TRANSFORMER_BASED_WRAP\n";
            return fmt::format("{}{}: {}\n", out, key.key, value);
        };
        TrainerQuestion one = run_of("", text(key.samples.substr(0, bar)));
        TrainerQuestion two = run_of("", text(key.samples.substr(bar + 1)));
        if (key.key == "mixed_precision") one.edits = two.edits = {{"bf16", "false"}};
        INFO(key.key);
        CHECK(outcome(one) != outcome(two));
        ++tested;
    }
    CHECK(tested > 20);
}

TEST_CASE("accelerate's parallelism_config cuts sequences under FSDP2") {
    const std::string start = std::string(kAccelerate) + kOptions + "parallelism_config:\n";
    const auto with = [&start](const std::string& keys) { return run_of("", start + keys); };
    const Reading read =
        read_trainer_files(with("  parallelism_config_cp_size: 4\n  parallelism_config_dp_shard_size: 2\n  "
                                "parallelism_config_cp_comm_strategy: alltoall\n  parallelism_config_tp_size: 1\n"));
    REQUIRE(read.refusals.empty());
    REQUIRE(read.job.plan.distributed->as<Fsdp2Plan>());
    CHECK(read.job.plan.distributed->as<Fsdp2Plan>()->context == ContextPlan{4, false});
    CHECK(read.job.plan.distributed->world_size == 8);
    // ParallelismConfig: what is left out is 1.
    CHECK_THROWS_AS(read_trainer_files(with("  parallelism_config_cp_size: 4\n")), Error);
    CHECK_THROWS_AS(read_trainer_files(run_of("",
                                              "distributed_type: MULTI_GPU\nnum_processes: 2\nparallelism_config:\n  "
                                              "parallelism_config_cp_size: 2\n")),
                    Error);
    for (const char* key :
         {"parallelism_config_tp_size", "parallelism_config_sp_size", "parallelism_config_cp_length"}) {
        const Reading refused = read_trainer_files(with(
            fmt::format("  parallelism_config_cp_size: 4\n  parallelism_config_dp_shard_size: 2\n  {}: 2\n", key)));
        INFO(key);
        REQUIRE(only_refusal(refused));
        CHECK(only_refusal(refused)->key == fmt::format("parallelism_config.{}", key));
    }
    // Shards alone: the same as without.
    const Reading alone = read_trainer_files(with("  parallelism_config_dp_shard_size: 8\n"));
    REQUIRE(alone.refusals.empty());
    CHECK(alone.job.plan.distributed ==
          read_trainer_files(run_of("", start.substr(0, start.rfind("parall")))).job.plan.distributed);
    TrainerQuestion fewer = with("  parallelism_config_dp_shard_size: 8\n");
    fewer.gpus = 4;
    CHECK_THROWS_WITH(read_trainer_files(fewer), Catch::Contains("total_size (8) does not match num_processes (4)"));
}

TEST_CASE("accelerate's parallelism_config copies shards under FSDP2") {
    const auto with = [](const std::string& keys) {
        return read_trainer_files(run_of("", std::string(kAccelerate) + kOptions + "parallelism_config:\n" + keys));
    };
    const Reading read = with("  parallelism_config_dp_replicate_size: 2\n  parallelism_config_dp_shard_size: 4\n");
    REQUIRE(read.refusals.empty());
    CHECK(read.job.plan.distributed->as<Fsdp2Plan>()->replicas == 2);
    CHECK(read.job.plan.distributed->shard_size() == 4);
    CHECK_THROWS_AS(with("  parallelism_config_dp_replicate_size: 2\n  parallelism_config_dp_shard_size: 2\n"), Error);
    CHECK(only_refusal(read_trainer_files(run_of("",
                                                 "distributed_type: MULTI_GPU\nnum_processes: 2\nparallelism_config:\n"
                                                 "  parallelism_config_dp_replicate_size: 2\n"))));
}

TEST_CASE("a wrap policy that accelerate's file leaves out is none, and a note says so") {
    const Reading silent = read_trainer_files(run_of("", std::string(kAccelerate) + "  fsdp_version: 2\n"));
    REQUIRE(silent.refusals.empty());
    CHECK(silent.job.plan.distributed->as<Fsdp2Plan>()->wrap_policy == WrapPolicy::none);
    const auto says_so = [](const Reading& reading) {
        return std::any_of(reading.notes.begin(), reading.notes.end(),
                           [](const ReadingNote& each) { return each.text.find("NO_WRAP") != std::string::npos; });
    };
    CHECK(says_so(silent));
    const Reading given = read_trainer_files(
        run_of("", std::string(kAccelerate) + "  fsdp_version: 2\n  fsdp_auto_wrap_policy: NO_WRAP\n"));
    CHECK(given.job.plan.distributed->as<Fsdp2Plan>()->wrap_policy == WrapPolicy::none);
    CHECK(!says_so(given));
}

TEST_CASE("units by size: how many parameters is read, with the default of who reads it") {
    const auto of_accelerate = [](const std::string& keys) {
        const Reading reading = read_trainer_files(run_of(
            "", std::string(kAccelerate) + "  fsdp_version: 1\n  fsdp_auto_wrap_policy: SIZE_BASED_WRAP\n" + keys));
        REQUIRE(reading.refusals.empty());
        return *reading.job.plan.distributed->as<Fsdp1Plan>();
    };
    CHECK(of_accelerate("").wrap_policy == WrapPolicy::size_based);
    CHECK(of_accelerate("").min_num_params == 100'000'000);
    CHECK(of_accelerate("  fsdp_min_num_params: 2000\n").min_num_params == 2000);
    CHECK(of_accelerate("  fsdp_min_num_params: 0\n").wrap_policy == WrapPolicy::none);
    const std::string arguments =
        ", \"fsdp\": true, \"fsdp_config\": {\"version\": 1, \"auto_wrap_policy\": "
        "\"SIZE_BASED_WRAP\"";
    const auto of_arguments = [&](const std::string& keys) {
        TrainerQuestion question = run_of(arguments + keys + "}");
        question.gpus = 2;
        const Reading reading = read_trainer_files(question);
        REQUIRE(reading.refusals.empty());
        return *reading.job.plan.distributed->as<Fsdp1Plan>();
    };
    CHECK(of_arguments("").wrap_policy == WrapPolicy::none);
    CHECK(of_arguments(", \"min_num_params\": 500000").min_num_params == 500'000);
}

TEST_CASE("TrainingArguments of transformers 4: the words of fsdp decide") {
    const auto reading_of = [](const std::string& keys) {
        TrainerQuestion question = run_of(keys);
        question.stack = stack_from("hf-2025-01").stack;
        question.gpus = 4;
        return read_trainer_files(question);
    };
    const auto plan_of = [&](const std::string& keys) {
        const Reading reading = reading_of(keys);
        REQUIRE(reading.refusals.empty());
        return *reading.job.plan.distributed->as<Fsdp1Plan>();
    };
    const Fsdp1Plan wrapped = plan_of(", \"fsdp\": \"shard_grad_op auto_wrap offload\"");
    CHECK(wrapped.wrap_policy == WrapPolicy::transformer_based);
    CHECK(wrapped.sharding_strategy == FsdpStrategy::shard_grad_op);
    CHECK(wrapped.cpu_offload);
    CHECK(plan_of(", \"fsdp\": \"full_shard\"").wrap_policy == WrapPolicy::none);
    const Fsdp1Plan sized =
        plan_of(", \"fsdp\": [\"hybrid_shard\", \"auto_wrap\"], \"fsdp_config\": {\"min_num_params\": 2000}");
    CHECK(sized.wrap_policy == WrapPolicy::size_based);
    CHECK(sized.min_num_params == 2000);
    CHECK(sized.sharding_strategy == FsdpStrategy::hybrid_shard);
    CHECK(plan_of(", \"fsdp\": \"full_shard auto_wrap\", \"fsdp_config\": {\"version\": 2, \"cpu_offload\": true}")
              .cpu_offload == false);
    for (const char* wrong : {"offload", "full_shard shard_grad_op", "fully_shard",
                              "full_shard auto_wrap\", \"fsdp_config\": {\"min_num_params\": 9, "
                              "\"transformer_layer_cls_to_wrap\": [\"X\"]}, \"x\": \""}) {
        INFO(wrong);
        CHECK_THROWS_AS(reading_of(fmt::format(", \"fsdp\": \"{}\"", wrong)), Error);
    }
}

TEST_CASE("what FSDP cannot be predicted for is refused by its key") {
    const auto refused = [](const std::string& keys, const std::string& accelerate) {
        const Reading reading = read_trainer_files(run_of(keys, accelerate));
        REQUIRE(only_refusal(reading));
        return *only_refusal(reading);
    };
    const std::string start = kAccelerate;
    CHECK_THROWS_AS(
        read_trainer_files(run_of("", start + "  fsdp_version: 2\n  fsdp_auto_wrap_policy: LAYER_BASED_WRAP\n")),
        Error);
    CHECK(refused(", \"fsdp\": true", start + kOptions).key == "distributed_type");
    CHECK_THROWS_AS(read_trainer_files(run_of("", start + kOptions + "  fsdp_sync_module_states: false\n")), Error);
    CHECK_THROWS_AS(read_trainer_files(run_of("", start + kOptions + "  reshard_after_forward: FULL_SHARD\n")), Error);
}

TEST_CASE("trainers that prepare FSDP in their own way are refused beside accelerate's file") {
    for (const char* text : {"base_model: llama-3.2-1b\ndatasets: []\nsequence_len: 512\nmicro_batch_size: 2\n",
                             "model: llama-3.2-1b\ntrain_type: full\nmax_length: 512\n"}) {
        const Reading reading =
            read_trainer_files(asked_of({{"t.yaml", text}, {"a.yaml", std::string(kAccelerate) + kOptions}}));
        INFO(text);
        CHECK(std::any_of(reading.refusals.begin(), reading.refusals.end(), [](const Refusal& each) {
            return each.key == "distributed_type" && each.place == FilePlace{"a.yaml", {1, 1}};
        }));
    }
}

TEST_CASE("DeepSpeed and FSDP on one card are not a run without them") {
    TrainerQuestion question = run_of(", \"fsdp\": true");
    CHECK_THROWS_AS(read_trainer_files(question), Error);  // no file says how many cards
    question.gpus = 1;
    CHECK(only_refusal(read_trainer_files(question)));
    question = run_of("");
    question.files.push_back({"ds.json", "{\"zero_optimization\": {\"stage\": 2}, \"bf16\": {\"enabled\": true}}"});
    CHECK_THROWS_AS(read_trainer_files(question), Error);
    question.gpus = 1;
    CHECK(only_refusal(read_trainer_files(question)));
}

TEST_CASE("a file that a launch line names may be given as well, at any place, or only so") {
    const std::string accelerate = std::string(kAccelerate) + kOptions;
    TrainerQuestion line;
    line.files = {{"run.sh",
                   "accelerate launch --config_file cfg/a.yaml run_clm.py --model_name_or_path llama-3.2-1b "
                   "--per_device_train_batch_size 4 --bf16 true --block_size 512 --output_dir x\n"}};
    line.stack = stack_from("").stack;
    line.open = [&](const std::string& path) {
        return path == "cfg/a.yaml" ? std::optional(accelerate) : std::nullopt;
    };
    const std::string alone = outcome(line);
    CHECK(alone.find("fsdp2") != std::string::npos);
    TrainerQuestion both = line;
    both.files.push_back({"/home/me/cfg/a.yaml", accelerate});
    CHECK(outcome(both) == alone);
    std::swap(both.files[0], both.files[1]);
    CHECK(outcome(both) == alone);
    both.open = {};
    CHECK(outcome(both) == alone);
    both.files[0].text += "machine_rank: 1\n";  // another file of the same name
    both.open = line.open;
    CHECK(outcome(both) != alone);
}
