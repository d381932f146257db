// Evaluation between steps: when it comes, with which batches, and what it does without.
#include <set>
#include <span>
#include <string>

#include "model/record.hpp"
#include "support/catch.hpp"
#include "support/llama.hpp"
#include "vramfit/base/error.hpp"
#include "vramfit/predict/predict.hpp"
#include "vramfit/spec/devices.hpp"
#include "vramfit/spec/stacks.hpp"

using namespace vramfit;

namespace {

Job evaluated(std::int64_t rows) {
    Job job = test::small_llama();
    job.device = device_from("H100");
    EvaluationPlan& plan = job.plan.evaluation.emplace();
    plan.per_device_eval_batch_size = rows;
    plan.every = 1;
    return job;
}

/// The first parts of the names of evaluations' windows: "step0.evaluation1".
std::set<std::string> evaluations_of(const Program& program) {
    std::set<std::string> out;
    for (const Window& window : program.windows) {
        const std::string name = name_of(window.phase);
        if (window.phase.evaluation >= 0) out.insert(name.substr(0, name.find('.', name.find("evaluation"))));
    }
    return out;
}

/// Allocations of evaluations' windows that satisfy `is`, and their bytes.
template <class Is>
std::pair<int, std::int64_t> made_in_evaluations(const Program& program, Is is) {
    std::pair<int, std::int64_t> out;
    for (std::size_t w = 0; w + 1 < program.windows.size(); ++w) {
        if (program.windows[w].phase.evaluation < 0) continue;
        for (std::size_t i = program.windows[w].first_event; i < program.windows[w + 1].first_event; ++i) {
            if (program.events[i].kind != EventKind::alloc) continue;
            const Allocation& allocation = program.allocations[program.events[i].id];
            if (is(allocation)) ++out.first, out.second += allocation.bytes;
        }
    }
    return out;
}

std::int64_t largest_in_evaluations(const Program& program) {
    std::int64_t most = 0;
    made_in_evaluations(program, [&most](const Allocation& a) {
        most = std::max(most, a.bytes);
        return false;
    });
    return most;
}

std::vector<std::int64_t> bytes_of(const Program& program) {
    std::vector<std::int64_t> out;
    for (const Allocation& a : program.allocations) out.push_back(a.bytes);
    return out;
}

}  // namespace

TEST_CASE("evaluations come after each n-th step, after the last one, and before the first if asked for") {
    Job job = evaluated(2);
    CHECK(evaluations_of(program_of(job)) ==
          std::set<std::string>{"step0.evaluation0", "step0.evaluation1", "step1.evaluation0", "step1.evaluation1"});
    job.plan.evaluation->every = 2;
    job.plan.loop.steps = 3;
    job.plan.evaluation->batches = 1;
    CHECK(evaluations_of(program_of(job)) == std::set<std::string>{"step1.evaluation0", "step2.evaluation0"});
    job.plan.evaluation->every = 0;
    job.plan.evaluation->on_start = true;
    CHECK(evaluations_of(program_of(job)) == std::set<std::string>{"evaluation0"});
}

TEST_CASE("an evaluation has its own rows, and the logits of all of them") {
    const auto rows = GENERATE(1, 4, 9);
    const Job job = evaluated(rows);
    // The loss is taken of float32.
    CHECK(largest_in_evaluations(program_of(job)) == rows * job.plan.batch.sequence_length * job.model.vocab_size * 4);
    Job shorter = job;
    shorter.plan.evaluation->sequence_length = 32;
    CHECK(largest_in_evaluations(program_of(shorter)) == rows * 32 * job.model.vocab_size * 4);
}

TEST_CASE("nothing is dropped out, recomputed or differentiated in an evaluation") {
    Job job = evaluated(2);
    job.plan.peft.emplace().lora_dropout = 0.1;
    job.plan.training.gradient_checkpointing = GENERATE(false, true);
    job.model.attention_dropout = 0.1;
    const Program program = program_of(job);
    const auto bools =
        made_in_evaluations(program, [](const Allocation& a) { return a.category == Category::gradients; });
    CHECK(bools.first == 0);
    Job without = job;
    without.plan.peft->lora_dropout = 0;
    without.model.attention_dropout = 0;
    const auto all = [](const Allocation&) { return true; };
    CHECK(made_in_evaluations(program, all) == made_in_evaluations(program_of(without), all));
}

TEST_CASE("a recording over symbols evaluates the same") {
    Job job = evaluated(3);
    const Program plain = program_of(job);
    std::vector<std::int64_t> of_symbols;
    model::record_symbols(job.model, job.plan, job.stack, job.device, {},
                          [&](const symbolic::Symbols&, const Program& program, std::span<const Size>) {
                              of_symbols = bytes_of(program);
                          });
    CHECK(bytes_of(plain) == of_symbols);
}

TEST_CASE("evaluation belongs to a Trainer, and to a network that is whole") {
    Job plain = evaluated(2);
    plain.plan.loop.kind = LoopKind::plain;
    CHECK_THROWS_AS(program_of(plain), Error);
    Job divided = evaluated(2);
    divided.plan.distributed.emplace().method.emplace<Fsdp2Plan>();
    divided.plan.distributed->world_size = 2;
    CHECK_THROWS_AS(program_of(divided), Error);
    divided.plan.distributed->method.emplace<DdpPlan>();
    CHECK(evaluations_of(program_of(divided)).size() == 4);
}

// transformers 4.44 models/llama/modeling_llama.py: `use_cache and not isinstance(...) and not self.training`.
TEST_CASE("transformers 4.44 holds keys and values of all layers in evaluation, 5 does not") {
    const auto at_head = [](std::string_view stack) {
        Job job = evaluated(1);
        job.stack = stack_from(stack).stack;
        std::int64_t held = 0, before = 0, most = 0;
        const Program program = program_of(job);
        for (std::size_t w = 0; w + 1 < program.windows.size(); ++w) {
            const Phase& phase = program.windows[w].phase;
            for (std::size_t i = program.windows[w].first_event; i < program.windows[w + 1].first_event; ++i) {
                const Event& e = program.events[i];
                if (e.kind == EventKind::alloc) held += program.allocations[e.id].bytes;
                if (e.kind == EventKind::free) held -= program.allocations[e.id].bytes;
            }
            if (phase.evaluation < 0) continue;
            if (phase.kind == PhaseKind::forward_layer && phase.layer == 0) before = held;
            if (phase.kind == PhaseKind::forward_layer && phase.layer > 0) most = std::max(most, held - before);
        }
        return most;
    };
    const Job job = evaluated(1);
    const std::int64_t of_layer = 2 * 2 * job.plan.batch.sequence_length * job.model.num_key_value_heads *
                                  job.model.head_dim;  // keys and values in bfloat16
    CHECK(at_head("hf-2024-08") == 2 * of_layer);
    CHECK(at_head("hf-2026-11") == 0);
}

TEST_CASE("gemma2 with a HybridCache is refused where it is evaluated") {
    Job job = evaluated(1);
    job.model.model_type = "gemma2";
    job.stack = stack_from("hf-2025-01").stack;
    CHECK_THROWS_AS(program_of(job), Error);
}
