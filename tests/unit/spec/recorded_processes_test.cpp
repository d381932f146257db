// Recorded types in several processes, and modules that peft puts no adapters on.
#include <nlohmann/json.hpp>

#include "expect.hpp"
#include "support/catch.hpp"
#include "vramfit/spec/job.hpp"
#include "vramfit/spec/plan_check.hpp"

using namespace vramfit;

namespace {

using json = nlohmann::json;

/// A configuration of that type, from its stored traces.
json stored_config(const std::string& model_type) {
    for (const std::string& line : lines_of("networks/type_traces.jsonl"))
        if (line.find("\"model_type\":\"" + model_type + "\"") != std::string::npos)
            return json::parse(line)["job"]["model"];
    FAIL("no trace of " << model_type);
    return {};
}

json job_of_type(const std::string& model_type) {
    return {{"schema", "vramfit.job/1"},
            {"model", stored_config(model_type)},
            {"training", {{"bf16", true}, {"gradient_checkpointing", true}}},
            {"batch", {{"sequence_length", 56}}},
            {"loop", {{"kind", "trainer"}}}};
}

std::optional<Error> refused(const json& given) {
    return error_of([&] {
        const Job job = read_job(given.dump(), "job.json", {});
        check_plan(job.model, job.plan, job.stack);
    });
}

json under_fsdp(json job, const std::string& kind, const std::string& layers) {
    json config = json::object();
    if (!layers.empty()) config["transformer_layer_cls_to_wrap"] = {layers};
    job["distributed"] = {{"kind", kind}, {"world_size", 2}, {"fsdp_config", config}};
    return job;
}

}  // namespace

TEST_CASE("FSDP's units of a network with towers are the layers whose class is named") {
    const json job = job_of_type("gemma3");
    CHECK(says(refused(under_fsdp(job, "fsdp2", "")), "distributed.fsdp_config",
               "accelerate stops: Could not find the transformer layer class"));
    CHECK(!refused(under_fsdp(job, "fsdp2", "Gemma3DecoderLayer")));
    CHECK(!refused(under_fsdp(job, "fsdp1", "Gemma3DecoderLayer")));
    json adapted = job;
    adapted["peft"] = {{"r", 8}, {"target_modules", {"q_proj"}}};
    CHECK(says(refused(under_fsdp(adapted, "fsdp1", "Gemma3DecoderLayer")), "distributed.fsdp_config", "peft stops"));
    CHECK(!refused(under_fsdp(adapted, "fsdp2", "Gemma3DecoderLayer")));
}

TEST_CASE("a head that shares its bias goes with DDP and ZeRO, not with FSDP") {
    const json job = job_of_type("bert");
    CHECK(says(refused(under_fsdp(job, "fsdp2", "")), "distributed", "a head that shares its bias"));
    json shared = job;
    shared["distributed"] = {{"kind", "ddp"}, {"world_size", 2}};
    CHECK(!refused(shared));
}

TEST_CASE("peft puts neither LoRA nor kinds like it on out_proj of Mamba's kin") {
    json job = job_of_type("mamba2");
    for (const char* kind : {"LORA", "ADALORA", "RANDLORA"}) {
        job["peft"] = {{"peft_type", kind}, {"target_modules", {"in_proj", "out_proj"}}};
        CHECK(says(refused(job), "peft.target_modules", "Module 'out_proj' is incompatible with Mamba-based models"));
        job["peft"]["target_modules"] = {"in_proj"};
        CHECK(!refused(job));
    }
    job["peft"] = {{"peft_type", "IA3"}, {"target_modules", {"out_proj"}}, {"feedforward_modules", json::array()}};
    CHECK(!refused(job));
}

TEST_CASE("networks with several lists of layers are predicted on one GPU, adapters of some layers are refused") {
    for (const char* type : {"hrm_text", "xlm"}) {
        json job = job_of_type(type);
        job["training"]["gradient_checkpointing"] = type == std::string("hrm_text");
        CHECK(!refused(job));
        json several = job;
        several["distributed"] = {{"kind", "ddp"}, {"world_size", 2}};
        CHECK(says(refused(several), "distributed", "a network with several lists of layers, on several GPUs,"));
        job["peft"] = {{"r", 8}, {"target_modules", {"v_proj", "v_lin"}}, {"layers_to_transform", {0}}};
        CHECK(says(refused(job), "peft.layers_to_transform", "a network with several lists of layers"));
    }
}

TEST_CASE("networks whose code asks whether it is in training are not evaluated") {
    for (const char* type : {"dbrx", "rwkv"}) {
        json job = job_of_type(type);
        CHECK(!refused(job));
        job["training"]["eval_strategy"] = "steps";
        CHECK(says(refused(job), "training.eval_strategy", "in evaluation"));
    }
}
