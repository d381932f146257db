// ORPO and CPO, and DPO and KTO of releases without a fused head: what is held, prepared and refused.
#include <algorithm>

#include "model/record.hpp"
#include "support/catch.hpp"
#include "vramfit/alloc/replay.hpp"
#include "vramfit/base/error.hpp"
#include "vramfit/predict/predict.hpp"
#include "windows.hpp"

using namespace vramfit;
using vramfit::test::most_requested_in;

namespace {

Job contrast_job(const std::string& kind, const std::string& training = "", const std::string& more = "",
                 const std::string& stack = "hf-2026-11") {
    return read_job(R"({"schema": "vramfit.job/1", "stack": ")" + stack + R"(", "model": {"model_type": "llama",
        "hidden_size": 128, "intermediate_size": 256, "num_hidden_layers": 2, "num_attention_heads": 4,
        "num_key_value_heads": 2, "vocab_size": 32000}, "load": {"dtype": "float32"},
        "loop": {"kind": ")" +
                        kind + R"("}, "batch": {"prompt_length": 8, "completion_length": 120}, "training": {)" +
                        training + "}" + more + "}",
                    "job.json", {});
}

constexpr const char* kContrastLora = R"(, "peft": {"r": 4, "target_modules": ["q_proj", "v_proj"]})";
/// All logits of a pair in float32.
constexpr std::int64_t kPairLogits = std::int64_t{2} * 128 * 32000 * 4;

bool has_phase_kind(const Job& job, PhaseKind kind) {
    const Program program = program_of(job);
    return std::any_of(program.windows.begin(), program.windows.end(),
                       [&](const Window& window) { return window.phase.kind == kind; });
}

std::string contrast_refusal(const Job& job) {
    try {
        (void)program_of(job);
    } catch (const Error& error) {
        return error.what();
    }
    return "";
}

}  // namespace

// trl 1.9 dpo_trainer.py _compute_loss: `outputs` and `ref_outputs` live until it returns.
TEST_CASE("without the fused head the logits of policy and reference are held at once") {
    const Job fused = contrast_job("dpo", "", kContrastLora),
              whole = contrast_job("dpo", "", kContrastLora, "axolotl-0.19");
    CHECK(most_requested_in(fused, "step1.loss") + 2 * kPairLogits < most_requested_in(whole, "step1.loss"));
    CHECK(most_requested_in(whole, "step1.loss") > 3 * kPairLogits);  // and the copy that the entropy is made of
    CHECK(most_requested_in(whole, "step1.backward.loss") > 3 * kPairLogits);
}

// trl 1.9 utils.py create_model_from_path: float32, where 1.16 sets the policy's dtype.
TEST_CASE("an older reference is float32 beside a policy in bfloat16") {
    const auto grows = [](const std::string& stack) {
        Job job = contrast_job("dpo", "", "", stack);
        job.plan.load.dtype = DType::bfloat16;
        return most_requested_in(job, "load_reference") - most_requested_in(job, "load");
    };
    CHECK(grows("axolotl-0.19") > grows("hf-2026-11") * 3 / 2);
}

TEST_CASE("ORPO and CPO have no reference and hold all logits") {
    for (const char* kind : {"orpo", "cpo"}) {
        const Job job = contrast_job(kind, "", kContrastLora);
        CHECK_FALSE(has_phase_kind(job, PhaseKind::reference_forward));
        CHECK_FALSE(has_phase_kind(job, PhaseKind::load_reference));
        CHECK(most_requested_in(job, "step1.backward.loss") > 2 * kPairLogits);
    }
}

TEST_CASE("CPO without the likelihood keeps no softmax of the chosen rows") {
    const std::int64_t with = most_requested_in(contrast_job("cpo", "", kContrastLora), "step1.backward.loss");
    const std::int64_t without =
        most_requested_in(contrast_job("cpo", R"("cpo_alpha": 0)", kContrastLora), "step1.backward.loss");
    CHECK(with - without > kPairLogits / 4);
}

// CPOTrainer.__init__ calls prepare_model_for_kbit_training.
TEST_CASE("ORPO prepares quantized weights itself") {
    const std::string quantized = std::string(kContrastLora) +
                                  R"(, "load": {"quantization_config": {"load_in_4bit": true}, "dtype": "bfloat16"})";
    const auto job = [&](const std::string& more) {
        return read_job(
            R"({"schema": "vramfit.job/1", "model": "smollm2-135m", "loop": {"kind": "orpo"})" + quantized + more + "}",
            "job.json", {});
    };
    CHECK(has_phase_kind(job(""), PhaseKind::prepare));
    CHECK_FALSE(has_phase_kind(contrast_job("orpo", "", kContrastLora), PhaseKind::prepare));
    // What a script prepares before is prepared once more, which finds nothing to cast.
    const Job twice = job(R"(, "prepare_kbit": {"use_gradient_checkpointing": false})");
    CHECK(contrast_refusal(twice).empty());
    CHECK(most_requested_in(twice, "step1.backward.loss") == most_requested_in(job(""), "step1.backward.loss"));
}

TEST_CASE("an embedding with adapters is refused where its inner output gets a gradient") {
    const std::string peft = R"(, "peft": {"r": 4, "target_modules": ["embed_tokens"]})";
    CHECK(contrast_refusal(contrast_job("cpo", R"("gradient_checkpointing": true)", peft))
              .find("leave the embedding out") != std::string::npos);
    CHECK(contrast_refusal(contrast_job("cpo", "", peft)).empty());
}

// axolotl 0.19 core/trainers/dpo/trainer.py AxolotlDPOTrainer.training_step.
TEST_CASE("axolotl's DPO gives memory back after each step") {
    const Job kept = contrast_job("dpo", "", kContrastLora, "axolotl-0.19");
    const Job emptied =
        contrast_job("dpo", "", std::string(kContrastLora) + R"(, "trl": {"trainer": "axolotl"})", "axolotl-0.19");
    const auto reserved_at_clip = [](const Job& job) {
        std::int64_t out = 0;
        for (const WindowLevels& window : timeline(job.model, job.plan, job.stack, job.device).windows)
            if (name_of(window.phase) == "step0.clip") out = window.peak.reserved;
        return out;
    };
    CHECK(reserved_at_clip(emptied) < reserved_at_clip(kept) / 2);
    CHECK(most_requested_in(emptied, "step1.loss") == most_requested_in(kept, "step1.loss"));
}

// axolotl 0.19 loaders/model.py _load_adapters: trl is given a model with adapters.
TEST_CASE("trainers without a reference take a model that has adapters, and leave it as it is") {
    const std::string made = std::string(kContrastLora) + R"(, "trl": {"peft_config": false})";
    for (const char* kind : {"reward", "orpo", "cpo"}) CHECK(contrast_refusal(contrast_job(kind, "", made)).empty());
    for (const char* kind : {"dpo", "kto"})
        CHECK(
            contrast_refusal(contrast_job(kind, R"("per_device_train_batch_size": 2)", made)).find("trl.peft_config") !=
            std::string::npos);
}
