// What each flag of a plan does to a job.
#include "cli/plan_flags.hpp"

#include <set>

#include "support/catch.hpp"
#include "support/llama.hpp"
#include "vramfit/base/error.hpp"

using namespace vramfit;
using namespace vramfit::cli;

namespace {

Job start() { return default_job(test::small_llama().model); }

void apply(Job& job, const char* name, const char* value) {
    const PlanFlag* flag = find_plan_flag(name);
    REQUIRE(flag);
    flag->apply(job, value, std::string("--").append(name));
}

Job with(std::initializer_list<std::pair<const char*, const char*>> flags) {
    Job job = start();
    for (const auto& [name, value] : flags) apply(job, name, value);
    return job;
}

std::vector<std::string> targets(const char* value) {
    return std::get<std::vector<std::string>>(with({{"targets", value}}).plan.peft->target_modules);
}

}  // namespace

TEST_CASE("the default is LoRA with the libraries' defaults") {
    const Job job = start();
    REQUIRE(job.plan.peft);
    CHECK(job.plan.peft->r == 8);
    CHECK_FALSE(job.plan.load.quantization);
    CHECK(job.plan.batch.sequence_length == 1024);
    CHECK(job.plan.training.per_device_train_batch_size == 1);
    CHECK_FALSE(job.device.capacity_known);
    CHECK(job.stack.name == "hf-2026-11");
}

TEST_CASE("a method sets what belongs to it") {
    const Job full = with({{"method", "full"}});
    CHECK_FALSE(full.plan.peft);
    const Job qlora = with({{"dtype", "float16"}, {"method", "qlora"}});
    REQUIRE(qlora.plan.load.quantization);
    CHECK(qlora.plan.load.quantization->method == QuantMethod::nf4);
    CHECK(qlora.plan.load.quantization->double_quant);
    CHECK(qlora.plan.load.quantization->compute_dtype == DType::float16);
    CHECK(qlora.plan.prepare_kbit);
    CHECK(qlora.plan.training.gradient_checkpointing);
    CHECK_FALSE(with({{"method", "qlora"}, {"method", "lora"}}).plan.load.quantization);
}

TEST_CASE("checkpointing reaches the preparation too") {
    const Job off = with({{"method", "qlora"}, {"checkpointing", "off"}});
    CHECK_FALSE(off.plan.training.gradient_checkpointing);
    CHECK_FALSE(off.plan.prepare_kbit->use_gradient_checkpointing);
    const Job kind = with({{"method", "qlora"}, {"checkpointing", "reentrant"}});
    CHECK(kind.plan.training.use_reentrant == true);
    CHECK(kind.plan.prepare_kbit->use_reentrant == true);
    CHECK_FALSE(with({{"checkpointing", "on"}}).plan.training.use_reentrant);
}

TEST_CASE("targets are names, groups, all-linear or a pattern") {
    CHECK(targets("q_proj,v_proj") == std::vector<std::string>{"q_proj", "v_proj"});
    CHECK(targets("q_proj v_proj") == std::vector<std::string>{"q_proj", "v_proj"});
    CHECK(targets("attention") == std::vector<std::string>{"q_proj", "k_proj", "v_proj", "o_proj"});
    CHECK(targets("mlp,embedding") == std::vector<std::string>{"gate_proj", "up_proj", "down_proj", "embed_tokens"});
    CHECK(targets("all-linear,embedding").size() == 8);
    CHECK(std::get<std::string>(with({{"targets", "all-linear"}}).plan.peft->target_modules) == "all-linear");
    CHECK(std::get<std::string>(with({{"targets", ".*_proj"}}).plan.peft->target_modules) == ".*_proj");
}

TEST_CASE("values that make no sense are refused at their flag") {
    const std::pair<const char*, const char*> wrong[] = {
        {"batch", "0"},        {"batch", "1.5"},         {"batch", "-1"},
        {"batch", ""},         {"batch", "99999999999"}, {"seq", "1k"},
        {"dtype", "int8"},     {"method", "QLORA"},      {"optim", "adamw"},
        {"lora-dropout", "2"}, {"targets", ","},         {"gpu", "24"},
        {"reserve", "1"},      {"checkpointing", "x"},   {"max-grad-norm", "nan"},
        {"stack", "hf-1999"},  {"bf16", "perhaps"},      {"bnb_4bit_quant_type", "nf4"},
    };
    for (const auto& [name, value] : wrong) {
        CAPTURE(name, value);
        try {
            with({{name, value}});
            FAIL_CHECK("accepted");
        } catch (const Error& error) {
            CHECK(error.kind() == ErrorKind::invalid);
            CHECK(error.problems().front().where == std::string("--").append(name));
        }
    }
}

TEST_CASE("adapter flags need adapters, quantization flags a quantized network") {
    CHECK_THROWS_AS(with({{"method", "full"}, {"rank", "8"}}), Error);
    CHECK_THROWS_AS(with({{"bnb_4bit_use_double_quant", "true"}}), Error);
    CHECK(with({{"load_in_8bit", "true"}}).plan.load.quantization->method == QuantMethod::int8);
    CHECK_FALSE(with({{"method", "qlora"}, {"load_in_4bit", "false"}}).plan.load.quantization);
}

TEST_CASE("a card replaces the card, not the allocator's settings") {
    const Job job = with({{"alloc-conf", "expandable_segments:True"}, {"gpu", "24GiB"}, {"reserve", "1GiB"}});
    CHECK(job.device.alloc_conf == "expandable_segments:True");
    CHECK(job.device.reserve.count == kGiB);
}

TEST_CASE("flags have different names, and a default in their help") {
    std::set<std::string> names;
    for (const PlanFlag* flag : plan_flags()) {
        CAPTURE(flag->name);
        CHECK(names.insert(flag->name).second);
        const std::string_view help = flag->help;
        if (*flag->group) CHECK((help.ends_with(']') && help.find('[') != help.npos));
    }
}
