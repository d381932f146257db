// What LLaMA-Factory does with some models whatever its file says.
#include "support/catch.hpp"
#include "unit/trainers/asked.hpp"
#include "vramfit/trainers/reading.hpp"

using namespace vramfit;
using test::asked_of;

namespace {

Reading factory(const std::string& model, const std::string& more = {}) {
    TrainerQuestion question = asked_of({{"f.yaml",
                                          "stage: sft\ndo_train: true\nfinetuning_type: lora\ntemplate: x\n"
                                          "cutoff_len: 64\nmodel_name_or_path: " +
                                              model + "\n" + more}});
    return read_trainer_files(question);
}

AttentionImplementation attention(const std::string& model, const std::string& more = {}) {
    return factory(model, more).job.plan.load.attention;
}

}  // namespace

TEST_CASE("LLaMA-Factory runs Gemma 2 with eager attention unless told otherwise") {
    CHECK(attention("gemma-2-9b") == AttentionImplementation::eager);
    CHECK(attention("gemma-2-9b", "flash_attn: auto\n") == AttentionImplementation::eager);
    CHECK(attention("gemma-2-9b", "flash_attn: sdpa\n") == AttentionImplementation::sdpa);
    CHECK(attention("gemma-2-9b", "flash_attn: fa2\n") == AttentionImplementation::flash_attention_2);
    CHECK(attention("llama-3.2-1b") == AttentionImplementation::sdpa);
    CHECK(attention("bloom-7b1") == AttentionImplementation::eager);  // which has no sdpa
    CHECK(attention("llama-3.2-1b", "flash_attn: disabled\n") == AttentionImplementation::eager);
}

TEST_CASE("LLaMA-Factory runs gpt-oss with a kernel of the hub whatever flash_attn says") {
    for (const char* asked : {"", "flash_attn: disabled\n", "flash_attn: fa2\n"}) {
        const Reading reading = factory("gpt-oss-20b", asked);
        REQUIRE(!reading.refusals.empty());
        CHECK(reading.refusals.front().what.find("vllm-flash-attn3") != std::string::npos);
    }
}

TEST_CASE("LLaMA-Factory's loss that balances experts is refused where it is not known") {
    const Reading reading = factory("olmoe-1b-7b-0924-instruct", "moe_aux_loss_coef: 0.001\n");
    REQUIRE(!reading.refusals.empty());
    CHECK(reading.refusals.front().key == "moe_aux_loss_coef");
    CHECK(factory("olmoe-1b-7b-0924-instruct").refusals.empty());
}
