// A recorded llama and the one that is written by hand: the same events for the same question.
#include <fstream>
#include <sstream>

#include <fmt/format.h>

#include "model/record.hpp"
#include "spec/network/document.hpp"
#include "support/catch.hpp"
#include "support/llama.hpp"
#include "support/story.hpp"
#include "vramfit/base/error.hpp"

using namespace vramfit;

namespace {

std::string recorded_text() {
    std::ifstream file(std::string(VRAMFIT_TEST_DATA_DIR) + "/networks/llama-tiny.json");
    std::stringstream text;
    text << file.rdbuf();
    return text.str();
}

const network::Document& recorded_llama() {
    static const network::Document document = network::read_network(recorded_text(), "llama-tiny.json");
    return document;
}

/// Training of the llama that was recorded, 2 x 48 tokens, two steps.
Job tiny_llama() {
    Job job = test::small_llama(2);
    job.model.vocab_size = 320;
    job.model.hidden_size = 64;
    job.model.intermediate_size = 176;
    job.model.num_attention_heads = 4;
    job.model.num_key_value_heads = 2;
    job.model.head_dim = 16;
    job.plan.training.per_device_train_batch_size = 2;
    job.plan.batch.sequence_length = 48;
    return job;
}

/// The recording with this in place of that.
network::Document changed(std::string_view that, std::string_view in_place) {
    std::string text = recorded_text();
    for (std::size_t at = 0; (at = text.find(that, at)) != std::string::npos; at += in_place.size())
        text.replace(at, that.size(), in_place);
    return network::read_network(text, "llama-tiny.json");
}

/// The first place where the two differ; empty: they are equal.
std::string difference(const Job& job) { return test::difference(job, recorded_llama()); }

}  // namespace

TEST_CASE("full training of a recorded llama") {
    Job job = tiny_llama();
    job.plan.batch.attention_mask = AttentionMask::absent;
    CHECK(difference(job) == "");
    job.plan.batch.attention_mask = AttentionMask::ones;
    CHECK(difference(job) == "");
    job.plan.training.gradient_accumulation_steps = 2;
    CHECK(difference(job) == "");
}

TEST_CASE("a single row of a recorded llama has calls of its own") {
    Job job = tiny_llama();
    job.plan.training.per_device_train_batch_size = 1;
    for (const AttentionMask mask : {AttentionMask::absent, AttentionMask::ones, AttentionMask::right_padded}) {
        job.plan.batch.attention_mask = mask;
        CHECK(difference(job) == "");
    }
}

TEST_CASE("gradient checkpointing of a recorded llama") {
    Job job = tiny_llama();
    job.plan.batch.attention_mask = AttentionMask::absent;
    job.plan.training.gradient_checkpointing = true;
    for (const bool reentrant : {false, true}) {
        job.plan.training.use_reentrant = reentrant;
        CHECK(difference(job) == "");
    }
}

TEST_CASE("a recorded llama in mixed precision") {
    Job job = tiny_llama();
    job.plan.batch.attention_mask = AttentionMask::absent;
    job.plan.load.dtype = DType::float32;
    job.plan.training.bf16 = true;
    CHECK(difference(job) == "");
    job.plan.training.gradient_checkpointing = true;
    CHECK(difference(job) == "");
}

TEST_CASE("padded rows of a recorded llama") {
    Job job = tiny_llama();
    job.plan.batch.attention_mask = AttentionMask::right_padded;
    CHECK(difference(job) == "");
}

TEST_CASE("eager attention of a recorded llama") {
    Job job = tiny_llama();
    job.plan.load.attention = AttentionImplementation::eager;
    job.plan.batch.attention_mask = AttentionMask::absent;
    CHECK(difference(job) == "");
    job.plan.batch.attention_mask = AttentionMask::right_padded;
    CHECK(difference(job) == "");
}

TEST_CASE("adapters on a recorded llama") {
    Job job = tiny_llama();
    job.plan.batch.attention_mask = AttentionMask::absent;
    job.plan.peft.emplace();
    job.plan.peft->target_modules = std::vector<std::string>{"q_proj", "v_proj", "down_proj"};
    CHECK(difference(job) == "");
    job.plan.peft->use_dora = true;
    CHECK(difference(job) == "");
    job.plan.peft->use_dora = false;
    job.plan.load.quantization.emplace();
    job.plan.load.dtype = DType::bfloat16;
    CHECK(difference(job) == "");
    job.plan.load.quantization->method = QuantMethod::int8;
    CHECK(difference(job) == "");
}

TEST_CASE("what a recording does not hold is refused by name") {
    Job job = tiny_llama();
    const auto refused = [&](std::string_view what) {
        try {
            model::record_recorded(job.model, job.plan, job.stack, job.device, recorded_llama());
        } catch (const Error& error) {
            CHECK(error.kind() == ErrorKind::unsupported);
            INFO(error.what());
            CHECK(std::string_view(error.what()).find(what) != std::string_view::npos);
            return;
        }
        FAIL("was answered");
    };
    job.plan.batch.attention_mask = AttentionMask::absent;
    job.plan.batch.sequence_length = 1;
    refused("the recording holds only where");
    job = tiny_llama();
    job.plan.load.attention = AttentionImplementation::flash_attention_2;
    job.plan.batch.attention_mask = AttentionMask::absent;
    refused("no recorded variant has attention flash_attention_2, mask absent");
    job = tiny_llama();
    job.plan.training.use_cache = true;
    refused("with a cache was not compared");
}

TEST_CASE("recordings that the engine cannot run are refused with the place") {
    const Job job = tiny_llama();
    const auto refusal = [&](const network::Document& document) {
        try {
            model::record_recorded(job.model, job.plan, job.stack, job.device, document);
        } catch (const Error& error) {
            return fmt::format("{} {}: {}", static_cast<int>(error.kind()), error.problems()[0].where,
                               error.problems()[0].what);
        }
        return std::string("answered");
    };
    CHECK(refusal(changed("torch.nn.functional.silu", "torch.nn.functional.mish")) ==
          "1 model.layers.0.mlp.act_fn: torch.nn.functional.mish is not supported in recorded networks");
    CHECK(refusal(changed("\"torch.arange\",[\"=S\"]", "\"torch.arange\",[\"=S//0\"]")) ==
          "0 a size of the recorded network: it is divided by zero or less");
    CHECK(refusal(changed("\"torch.arange\",[\"=S\"]", "\"torch.arange\",[\"=2305843009213693951*S\"]"))
              .starts_with("0 "));
    // XLNet counts down in steps that are written as real numbers.
    CHECK(refusal(changed("\"torch.arange\",[\"=S\"]", "\"torch.arange\",[\"=S\",0,-1.0]")) == "answered");
    CHECK(refusal(changed("\"torch.arange\",[\"=S\"]", "\"torch.arange\",[0,\"=S\",0.5]"))
              .ends_with("torch.arange: such a step is not supported in recorded networks"));
    CHECK(refusal(changed("[320,64]", "[320,65]")) ==
          "0 model.layers.0.input_layernorm: torch.Tensor.to makes another shape than the recording says");
}

TEST_CASE("a linear layer whose class says its dtype is not quantized") {
    Job job = tiny_llama();
    job.plan.load.dtype = DType::bfloat16;
    job.plan.peft.emplace();
    job.plan.load.quantization.emplace();
    const network::Document document = changed(R"(["weight","weights",[176,64]])", R"(["weight","float32",[176,64]])");
    const auto refusal = [&] {
        try {
            model::record_recorded(job.model, job.plan, job.stack, job.device, document);
        } catch (const Error& error) {
            return fmt::format("{}: {}", error.problems()[0].where, error.problems()[0].what);
        }
        return std::string("answered");
    };
    CHECK(refusal() ==
          "load.quantization_config: model.layers.0.mlp.gate_proj has a dtype that its class says: "
          "quantized, it was not recorded");
}

TEST_CASE("evaluation and a plain loop with a recorded llama") {
    Job job = tiny_llama();
    job.plan.batch.attention_mask = AttentionMask::absent;
    job.plan.evaluation.emplace();
    job.plan.evaluation->every = 1;
    CHECK(difference(job) == "");
    job.plan.training.gradient_checkpointing = true;
    CHECK(difference(job) == "");
    job = tiny_llama();
    job.plan.loop.kind = LoopKind::plain;
    job.model.use_cache = false;
    for (const AttentionMask mask : {AttentionMask::absent, AttentionMask::ones, AttentionMask::right_padded}) {
        job.plan.batch.attention_mask = mask;
        CHECK(difference(job) == "");
    }
    job.plan.load.attention = AttentionImplementation::eager;
    CHECK(difference(job) == "");
}
