// GRPO: generation token by token, what is trained on it, when the reference and the policy score it.
#include <algorithm>

#include "model/record.hpp"
#include "refused.hpp"
#include "support/catch.hpp"
#include "vramfit/base/error.hpp"
#include "vramfit/predict/predict.hpp"
#include "vramfit/spec/pair_rows.hpp"
#include "vramfit/spec/plan_check.hpp"

using namespace vramfit;
using vramfit::test::reason_of;

namespace {

const std::string kGroupLora = R"(, "peft": {"r": 4, "target_modules": "all-linear"})";

Job grpo_job(const std::string& training, const std::string& batch = R"("prompt_length": 6, "completion_length": 8)",
             const std::string& more = "", const std::string& model_type = "llama",
             const std::string& generations = "2") {
    return read_job(R"({"schema": "vramfit.job/1", "model": {"model_type": ")" + model_type +
                        R"(", "hidden_size": 128, "intermediate_size": 256, "num_hidden_layers": 2,
        "num_attention_heads": 4, "num_key_value_heads": 2, "vocab_size": 512}, "loop": {"kind": "grpo"},
        "training": {"per_device_train_batch_size": 4, "num_generations": )" +
                        generations + training + R"(}, "load": {"dtype": "bfloat16"}, "batch": {)" + batch + "}" +
                        more + "}",
                    "job.json", {});
}

std::int64_t windows_in(const Program& program, const std::string& name) {
    return std::count_if(program.windows.begin(), program.windows.end(),
                         [&](const Window& window) { return name_of(window.phase) == name; });
}

std::int64_t windows_in(const Job& job, const std::string& name) { return windows_in(program_of(job), name); }

/// Everything that is allocated and freed, in order.
std::vector<std::pair<std::uint32_t, std::int64_t>> requests_of(const Program& program) {
    std::vector<std::pair<std::uint32_t, std::int64_t>> out;
    for (const Event& event : program.events)
        out.emplace_back(event.id, event.kind == EventKind::free ? -1 : program.allocations[event.id].bytes);
    return out;
}

/// Requested bytes that the second generation gives back.
std::int64_t held_while_generating(const Job& job) {
    for (const WindowLevels& window : timeline(job).windows)
        if (window.phase.kind == PhaseKind::generation && window.phase.step == 1)
            return window.peak.requested - window.end.requested;
    return 0;
}

}  // namespace

TEST_CASE("each step of GRPO generates, rewards and trains") {
    const Program program = program_of(grpo_job("", R"("prompt_length": 6, "completion_length": 8)", kGroupLora));
    for (const char* window : {"step0.generation", "step1.generation", "step1.reward", "step1.loss"})
        CHECK(windows_in(program, window) == 1);
    for (const char* window : {"load_reference", "step1.reference_forward", "step1.log_probabilities"})
        CHECK(windows_in(program, window) == 0);
}

TEST_CASE("GRPO has a reference with beta alone, and loads it where there are no adapters") {
    const std::string beta = R"(, "beta": 0.1)";
    CHECK(windows_in(grpo_job(beta), "load_reference") == 1);
    CHECK(windows_in(grpo_job(R"(, "beta": 0)"), "load_reference") == 0);
    const Job adapted = grpo_job(beta, R"("prompt_length": 6, "completion_length": 8)", kGroupLora);
    CHECK(windows_in(adapted, "load_reference") == 0);
    CHECK(windows_in(adapted, "step1.reference_forward") == 1);
}

// trl 1.16 grpo_trainer.py: old_per_token_logps where generation and updates are not aligned.
TEST_CASE("completions that are trained on more than once are scored before the loss, and generated less often") {
    const Job twice = grpo_job(R"(, "num_iterations": 2)");
    CHECK(windows_in(twice, "step0.log_probabilities") == 1);
    CHECK(windows_in(twice, "step1.generation") == 0);
    const Job at_once = grpo_job(R"(, "gradient_accumulation_steps": 4, "steps_per_generation": 2)");
    CHECK(windows_in(at_once, "step1.micro0.generation") == 1);
    CHECK(windows_in(at_once, "step1.micro1.generation") == 0);
    CHECK(windows_in(at_once, "step1.micro2.generation") == 1);
    CHECK(windows_in(at_once, "step1.micro2.log_probabilities") == 0);
}

TEST_CASE("tokens and batches are written again as they would be run") {
    struct Case {
        std::string training, batch, more;
    };
    const Case cases[] = {
        {"", R"("prompt_length": 5, "completion_length": 40)", kGroupLora},
        {R"(, "bf16": true)", R"("prompt_length": 240, "completion_length": 60)", ""},
        {R"(, "gradient_accumulation_steps": 4)", R"("prompt_length": 6, "completion_length": 12)", kGroupLora},
        {R"(, "gradient_accumulation_steps": 4, "steps_per_generation": 2)",
         R"("prompt_length": 6, "completion_length": 7)", ""},
        // The flash kernel cuts rows of more than 256 places into two parts, the mask's sum takes scratch.
        {"", R"("prompt_length": 500, "completion_length": 30)", kGroupLora},
        {R"(, "temperature": 0.5)", R"("prompt_length": 2000, "completion_length": 80)", ""},
        // A mask is padded to a multiple of eight places.
        {"", R"("prompt_length": [250, 9], "completion_length": 60)", kGroupLora},
        {R"(, "gradient_accumulation_steps": 4)", R"("prompt_length": 6, "completion_length": 40, "padded": true)", ""},
    };
    for (const Case& each : cases) {
        INFO(each.training << each.batch);
        const Job job = grpo_job(each.training, each.batch, each.more);
        const Program again = model::record(job.model, job.plan, job.stack, job.device);
        const Program every = model::record_every_batch(job.model, job.plan, job.stack, job.device);
        REQUIRE(again.events.size() == every.events.size());
        CHECK(requests_of(again) == requests_of(every));
        const Summary summary = model::summarize(job.model, job.plan, job.stack, job.device);
        CHECK(summary.requested == timeline(job).peak.requested);
    }
}

// trl 1.16 grpo_trainer.py: rewards of all processes are gathered, and the texts of prompts and completions.
TEST_CASE("several processes of GRPO gather rewards and texts") {
    const std::string batch = R"("prompt_length": 6, "completion_length": 8)";
    const auto gathers_of = [&](const std::string& processes) {
        const Program program = program_of(grpo_job("", batch, processes));
        return std::count_if(program.allocations.begin(), program.allocations.end(),
                             // 4 rows of 2 x 6 - 1 letters, with a length and a memo each, in a pickled list.
                             [](const Allocation& each) { return each.bytes == 3 * (16 + 4 * (11 + 3)); });
    };
    CHECK(gathers_of("") == 0);
    CHECK(gathers_of(R"(, "distributed": {"kind": "ddp", "world_size": 3})") ==
          2 * 2);  // flat and as parts, in two steps
    const auto rewards_of = [&](const std::string& processes) {
        for (const WindowLevels& window : timeline(grpo_job("", batch, processes)).windows)
            if (window.phase.kind == PhaseKind::reward) return window.end.requested;
        return std::int64_t{0};
    };
    CHECK(rewards_of(R"(, "distributed": {"kind": "ddp", "world_size": 4})") > rewards_of(""));
}

TEST_CASE("groups of GRPO lie over several processes") {
    const auto job_of = [](const std::string& rows, const std::string& generations, const std::string& world) {
        return read_job(R"({"schema": "vramfit.job/1", "model": "smollm2-135m", "loop": {"kind": "grpo"},
            "training": {"per_device_train_batch_size": )" +
                            rows + R"(, "num_generations": )" + generations +
                            R"(}, "batch": {"prompt_length": 6, "completion_length": 8, "padded": true},
            "distributed": {"kind": "ddp", "world_size": )" +
                            world + "}}",
                        "job.json", {});
    };
    CHECK_FALSE(group_rows(job_of("2", "4", "2").plan).prompts_differ);  // a half of one group each
    CHECK(group_rows(job_of("3", "2", "2").plan).prompts_differ);        // the second process begins within a group
    CHECK(group_rows(job_of("4", "2", "2").plan).prompts_differ);
    CHECK(reason_of(job_of("3", "4", "2"), ErrorKind::invalid)
              .find("generation_batch_size (6) must be divisible by num_generations (4)") != std::string::npos);
}

TEST_CASE("longer completions hold longer keys and values") {
    const auto grown = [](std::int64_t tokens) {
        const std::string batch = R"("prompt_length": 6, "completion_length": )" + std::to_string(tokens);
        return held_while_generating(grpo_job("", batch, kGroupLora));
    };
    // Of each token: 4 rows, 2 layers, keys and values of 2 heads of 32 channels in two bytes; of a layer that grows
    // the old ones are there too.
    CHECK(grown(400) - grown(300) > 100 * 4 * 2 * 2 * 2 * 32 * 2);
}

TEST_CASE("a layer with a window holds no more keys and values than its window") {
    const auto held = [](std::int64_t tokens) {
        const std::string batch = R"("prompt_length": 6, "completion_length": )" + std::to_string(tokens);
        Job job = grpo_job("", batch, kGroupLora, "mistral");
        job.model.sliding_window = 64;
        return held_while_generating(job);
    };
    // What grows with a token: its place in ids, mask and positions, where keys and values are 2 KiB for each.
    CHECK(held(400) - held(300) < 100 * 4 * 8 * 8);
    CHECK(held(60) - held(40) > 20 * 4 * 2 * 2 * 2 * 32 * 2);
}

TEST_CASE("what GRPOTrainer was not compared with is refused") {
    const std::string plain = R"("prompt_length": 6, "completion_length": 8)";
    CHECK(reason_of(grpo_job("", plain, "", "nemotron"), ErrorKind::unsupported)
              .find("generation by networks of the type nemotron") != std::string::npos);
    for (const char* training :
         {R"(, "use_vllm": true, "vllm_enable_sleep_mode": true)", R"(, "fp16": true)", R"(, "top_k": 5000)",
          R"(, "off_policy_mask_threshold": 0.5)", R"(, "top_entropy_quantile": 0.2)"})
        CHECK_THROWS_AS(program_of(grpo_job(training)), Error);
    // trl's fused head on Turing: bfloat16 with sums in float32.
    const std::string turing = R"(, "device": {"name": "T4"})";
    CHECK(reason_of(grpo_job("", plain, turing), ErrorKind::unsupported).find("capability 8.0 or higher") !=
          std::string::npos);
    const std::string zero3 = R"(, "distributed": {"kind": "deepspeed", "world_size": 2,
                                    "deepspeed": {"zero_optimization": {"stage": 3}}})";
    for (const std::string& more : {zero3, std::string(R"(, "distributed": {"kind": "fsdp2", "world_size": 2})")})
        CHECK(reason_of(grpo_job("", plain, more), ErrorKind::unsupported) == "");
    const std::string dora = zero3 + R"(, "peft": {"r": 4, "target_modules": ["q_proj"], "use_dora": true})";
    CHECK(reason_of(grpo_job("", plain, dora), ErrorKind::unsupported).find("DoRA") != std::string::npos);
    CHECK_THROWS_AS(program_of(grpo_job(R"(, "ds3_gather_for_generation": false)", plain, zero3)), Error);
    for (const char* more : {R"(, "distributed": {"kind": "fsdp1", "world_size": 2})",
                             R"(, "peft": {"r": 4, "target_modules": ["lm_head"]})",
                             R"(, "peft": {"r": 4, "target_modules": ["q_proj"]}, "trl": {"peft_config": false})"})
        CHECK(!reason_of(grpo_job("", plain, more), ErrorKind::unsupported).empty());
}

TEST_CASE("what GRPOConfig stops at is invalid") {
    const std::string plain = R"("prompt_length": 6, "completion_length": 8)";
    CHECK(reason_of(grpo_job("", plain, "", "llama", "3"), ErrorKind::invalid)
              .find("generation_batch_size (4) must be divisible by num_generations (3)") != std::string::npos);
    CHECK(reason_of(grpo_job(R"(, "max_completion_length": 7)"), ErrorKind::invalid)
              .find("completions of 8 tokens are longer than 7") != std::string::npos);
    CHECK_THROWS_AS(grpo_job("", plain, "", "llama", "1"), Error);
    CHECK_THROWS_AS(grpo_job(R"(, "steps_per_generation": 1, "generation_batch_size": 4)"), Error);
    CHECK(grpo_job(R"(, "generation_batch_size": 8)").plan.preference.grpo.steps_per_generation == 2);
}

TEST_CASE("a job of GRPO is written as it was read") {
    const Job job = grpo_job(R"(, "beta": 0.2, "loss_type": "bnpo", "num_iterations": 2, "temperature": 0.7,
                                "steps_per_generation": 3, "max_completion_length": null, "disable_dropout": true)");
    CHECK(read_job(to_json_text(job), "job.json", {}).plan == job.plan);
    const Job plain = grpo_job("");
    CHECK_FALSE(plain.plan.preference.disable_dropout);
    CHECK(read_job(to_json_text(plain), "job.json", {}).plan == plain.plan);
}

namespace {

const std::string kFour = R"("prompt_length": 6, "completion_length": 8)";

std::string refusal_of_rows(const std::string& batch, const std::string& training = "") {
    return reason_of(grpo_job(training, batch, kGroupLora), ErrorKind::unsupported);
}

}  // namespace

// trl 1.16 grpo_trainer.py pads prompts on the left and completions on the right.
TEST_CASE("padded rows are those whose lengths differ as little as can be, prompts where there are several") {
    const auto requests = [](const std::string& batch, const std::string& generations) {
        return requests_of(program_of(grpo_job("", batch, kGroupLora, "llama", generations)));
    };
    const std::string padded = kFour + R"(, "padded": true)";
    // Two prompts of two completions each.
    CHECK(requests(padded, "2") == requests(R"("prompt_length": [6, 5], "completion_length": 8)", "2"));
    CHECK(requests(padded, "4") != requests(kFour, "4"));
    // One prompt: a completion that lacks a token makes the mask, and the token counts as if it were scored.
    const auto all = [](const std::string& batch) { return program_of(grpo_job("", batch, kGroupLora, "llama", "4")); };
    const Program bound = all(padded), real = all(R"("prompt_length": 6, "completion_length": [8, 8, 7, 8])");
    REQUIRE(bound.allocations.size() == real.allocations.size());
    for (std::size_t i = 0; i < real.allocations.size(); ++i)
        CHECK(bound.allocations[i].bytes >= real.allocations[i].bytes);
}

TEST_CASE("padded rows need more than rows that are alike") {
    for (const char* generations : {"2", "4"})
        for (const char* training : {"", R"(, "bf16": true)", R"(, "gradient_checkpointing": true, "beta": 0.1)"}) {
            const auto peak = [&](const std::string& more) {
                const std::string batch = R"("prompt_length": 60, "completion_length": 40)" + more;
                return timeline(grpo_job(training, batch, kGroupLora, "llama", generations)).peak.requested;
            };
            CHECK(peak(R"(, "padded": true)") > peak(""));
        }
}

TEST_CASE("where prompts differ generation sees a mask, where completions differ only their scores do") {
    const auto of_generation = [](const std::string& batch) {
        for (const WindowLevels& window : timeline(grpo_job("", batch, kGroupLora)).windows)
            if (name_of(window.phase) == "step1.generation") return window.peak.requested - window.end.requested;
        return std::int64_t{0};
    };
    const std::int64_t alike = of_generation(kFour);
    CHECK(of_generation(R"("prompt_length": [6, 2], "completion_length": 8)") > alike);
    CHECK(of_generation(R"("prompt_length": 6, "completion_length": [8, 3, 8, 8])") == alike);
}

TEST_CASE("lengths of GRPO's rows are those of a generation, and batches of them are known or refused") {
    CHECK(reason_of(grpo_job("", R"("prompt_length": [6, 5, 4], "completion_length": 8)"), ErrorKind::invalid)
              .find("3 lengths for 2 prompts of a generation") != std::string::npos);
    CHECK(reason_of(grpo_job("", R"("prompt_length": 6, "completion_length": [8, 7])"), ErrorKind::invalid)
              .find("2 lengths for 4 completions of a generation") != std::string::npos);
    CHECK(reason_of(grpo_job("", R"("prompt_length": [6, 5], "completion_length": 8, "padded": true)"),
                    ErrorKind::invalid)
              .find("lists of lengths say which rows are padded") != std::string::npos);
    const std::string two_batches = R"(, "gradient_accumulation_steps": 2)";
    const std::string at_random = "draws at random which ones share a batch";
    CHECK(refusal_of_rows(R"("prompt_length": 6, "completion_length": [8, 7, 8, 7, 8, 7, 8, 7])", two_batches)
              .find(at_random) != std::string::npos);
    // A batch of four may have two prompts of two rows each, both of which are the longest.
    CHECK(refusal_of_rows(R"("prompt_length": [6, 6, 5, 4], "completion_length": 8)", two_batches).find(at_random) !=
          std::string::npos);
    CHECK(refusal_of_rows(R"("prompt_length": [6, 3, 5, 4], "completion_length": 8)", two_batches).empty());
    CHECK(refusal_of_rows(R"("prompt_length": 6, "completion_length": 8, "padded": true)", two_batches).empty());
}

TEST_CASE("rows of GRPO are written as they were read") {
    for (const char* batch : {R"("prompt_length": [6, 5], "completion_length": [8, 2, 8, 8])",
                              R"("prompt_length": 6, "completion_length": 8, "padded": true)"}) {
        const Job job = grpo_job(R"(, "scale_rewards": false)", batch);
        CHECK(job.plan.preference.grpo.scale == RewardScale::none);
        CHECK(read_job(to_json_text(job), "job.json", {}).plan == job.plan);
    }
    CHECK(grpo_job("", R"("prompt_length": [6, 5], "completion_length": [8, 2, 8, 8])").plan.batch.sequence_length ==
          14);
    CHECK(grpo_job(R"(, "scale_rewards": "batch")").plan.preference.grpo.scale == RewardScale::batch);
    CHECK_THROWS_AS(grpo_job(R"(, "scale_rewards": "all")"), Error);
}

TEST_CASE("a prediction of rows that are alike says so") {
    const auto notes_alike = [](const std::string& batch) {
        const Job job = grpo_job("", batch);
        const Notes notes = PlanChecker(job.model, job.stack).check(job.plan);
        return std::any_of(notes.begin(), notes.end(), [](const Note& n) { return n.kind == NoteKind::rows_alike; });
    };
    CHECK(notes_alike(kFour));
    CHECK_FALSE(notes_alike(kFour + R"(, "padded": true)"));
    CHECK_FALSE(notes_alike(R"("prompt_length": [6, 5], "completion_length": 8)"));
}
