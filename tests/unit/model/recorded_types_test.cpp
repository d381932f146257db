// A llama made of the recording of its type and the one that is written by hand: the same events for the same
// config.json.
#include <fstream>
#include <sstream>

#include "spec/json_parse.hpp"
#include "spec/network/type.hpp"
#include "support/catch.hpp"
#include "support/llama.hpp"
#include "support/story.hpp"
#include "vramfit/spec/config.hpp"

using namespace vramfit;

namespace {

const std::string& type_of_llama() {
    static const std::string text = [] {
        std::ifstream file(VRAMFIT_TEST_DATA_DIR "/networks/llama.type.json");
        std::stringstream read;
        read << file.rdbuf();
        return read.str();
    }();
    return text;
}

/// The first place where the two differ for that configuration; empty: they are equal. Of a recomputation that stops in
/// the middle of a layer, as with biases in mixed precision, frees that follow each other may have another order.
std::string difference(Job job, const std::string& config) {
    Problems problems("config.json");
    const JsonValue json = parse_json(config, problems);
    problems.throw_if_any();
    const network::Document document = network::instantiate(type_of_llama(), json, "", "config.json");
    job.model = read_config(config, "config.json");
    return test::difference(job, document, job.plan.training.gradient_checkpointing);
}

/// Training with Trainer, 2 x 48 tokens, two steps.
Job training() {
    Job job = test::small_llama(2);
    job.plan.training.per_device_train_batch_size = 2;
    job.plan.batch.sequence_length = 48;
    job.plan.batch.attention_mask = AttentionMask::ones;
    return job;
}

std::string config_with(const std::string& more) {
    return R"({"model_type": "llama", "vocab_size": 411, "hidden_size": 96, "intermediate_size": 136,
        "num_attention_heads": 6, "num_key_value_heads": 2, "max_position_embeddings": 900)" +
           more + "}";
}

}  // namespace

TEST_CASE("llamas made of their type have the events of the one written by hand") {
    for (const char* more :
         {R"(, "num_hidden_layers": 1)", R"(, "num_hidden_layers": 2, "pad_token_id": 0)",
          R"(, "num_hidden_layers": 5, "head_dim": 24, "attention_bias": true, "mlp_bias": true)",
          R"(, "num_hidden_layers": 3, "tie_word_embeddings": true, "hidden_act": "gelu")",
          R"(, "num_hidden_layers": 2, "attention_dropout": 0.1, "pad_token_id": 7)",
          R"(, "num_hidden_layers": 2, "rope_theta": 500000.0, "rope_scaling": {"rope_type": "llama3",
                                "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
                                "original_max_position_embeddings": 512})"}) {
        INFO(more);
        Job job = training();
        CHECK(difference(job, config_with(more)) == "");
        job.plan.training.gradient_checkpointing = true;
        CHECK(difference(job, config_with(more)) == "");
        job.plan.load.dtype = DType::float32;
        job.plan.training.bf16 = true;
        CHECK(difference(job, config_with(more)) == "");
    }
}

TEST_CASE("flash_attention_2 on llamas made of their type, whose programs were recorded with sdpa") {
    for (const char* more : {R"(, "num_hidden_layers": 1, "attention_dropout": 0.1)", R"(, "num_hidden_layers": 3)"}) {
        INFO(more);
        Job job = training();
        job.plan.load.attention = AttentionImplementation::flash_attention_2;
        CHECK(difference(job, config_with(more)) == "");
        job.plan.training.gradient_checkpointing = true;
        CHECK(difference(job, config_with(more)) == "");
        job.plan.load.dtype = DType::float32;
        job.plan.training.bf16 = true;
        job.plan.training.per_device_train_batch_size = 1;
        CHECK(difference(job, config_with(more)) == "");
    }
}

TEST_CASE("cut cross entropy on a llama made of its type") {
    Job job = training();
    job.plan.training.cut_cross_entropy = true;
    job.plan.load.dtype = DType::bfloat16;
    CHECK(difference(job, config_with(R"(, "num_hidden_layers": 2)")) == "");
    job.plan.load.attention = AttentionImplementation::flash_attention_2;
    job.plan.training.gradient_checkpointing = true;
    CHECK(difference(job, config_with(R"(, "num_hidden_layers": 2)")) == "");
}

TEST_CASE("adapters on a llama made of its type") {
    Job job = training();
    job.plan.peft.emplace();
    job.plan.peft->target_modules = std::vector<std::string>{"q_proj", "v_proj", "down_proj"};
    CHECK(difference(job, config_with(R"(, "num_hidden_layers": 3)")) == "");
    job.plan.load.quantization.emplace();
    job.plan.load.dtype = DType::bfloat16;
    CHECK(difference(job, config_with(R"(, "num_hidden_layers": 3)")) == "");
}
