// trl's fused head in bfloat16 on cards whose cuBLAS has no such product.
#include <string>

#include "refused.hpp"
#include "support/catch.hpp"
#include "vramfit/base/error.hpp"

using namespace vramfit;
using vramfit::test::reason_of;

namespace {

/// Of a tiny network with adapters.
Job chunked_job(const std::string& kind, const std::string& card, const std::string& training,
                const std::string& dtype = "float32", const std::string& stack = "hf-2026-11") {
    return read_job(R"({"schema": "vramfit.job/1", "stack": ")" + stack + R"(", "model": {"model_type": "llama",
        "hidden_size": 128, "intermediate_size": 256, "num_hidden_layers": 2, "num_attention_heads": 4,
        "num_key_value_heads": 2, "vocab_size": 512}, "peft": {"r": 4, "target_modules": "all-linear"},
        "loop": {"kind": ")" +
                        kind + R"("}, "load": {"dtype": ")" + dtype + R"("}, "device": {"name": ")" + card +
                        R"("}, "training": {"per_device_train_batch_size": 8)" + training + "}}",
                    "job.json", {});
}

const std::string kNeedsAmpere = "capability 8.0 or higher";

}  // namespace

TEST_CASE("trl's fused head in bfloat16 needs Ampere, whichever trainer scores with it") {
    for (const char* kind : {"sft", "dpo", "kto", "grpo"}) {
        INFO(kind);
        for (const char* card : {"T4", "V100"})
            CHECK(reason_of(chunked_job(kind, card, R"(, "bf16": true)"), ErrorKind::unsupported).find(kNeedsAmpere) !=
                  std::string::npos);
        CHECK(reason_of(chunked_job(kind, "T4", "", "bfloat16"), ErrorKind::unsupported).find(kNeedsAmpere) !=
              std::string::npos);
        CHECK_NOTHROW(program_of(chunked_job(kind, "T4", "")));
        CHECK_NOTHROW(program_of(chunked_job(kind, "A10", R"(, "bf16": true)")));
    }
}

TEST_CASE("trainers with whole logits take bfloat16 on any card") {
    CHECK_NOTHROW(program_of(chunked_job("trainer", "T4", R"(, "bf16": true)")));
    CHECK_NOTHROW(program_of(chunked_job("reward", "T4", R"(, "bf16": true)")));
    CHECK_NOTHROW(program_of(chunked_job("dpo", "T4", R"(, "bf16": true)", "float32", "axolotl-0.19")));
}
