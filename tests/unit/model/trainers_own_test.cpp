// What some trainers put in beside transformers' own: losses without logits, steps inside of the backward pass; and
// micro batches that are written again instead of being run.
#include <span>

#include "model/record.hpp"
#include "support/catch.hpp"
#include "support/llama.hpp"
#include "vramfit/base/error.hpp"
#include "vramfit/predict/predict.hpp"
#include "vramfit/spec/devices.hpp"

using namespace vramfit;
using test::small_llama;

namespace {

Job on_a_card(std::int64_t micros) {
    Job job = small_llama();
    job.device = device_from("H100");
    job.plan.training.gradient_accumulation_steps = micros;
    return job;
}

/// Bytes of that category that are alive at a mark.
std::int64_t alive_at(const Program& program, const std::string& mark, Category category) {
    std::size_t end = 0;
    for (const Mark& each : program.marks)
        if (each.name == mark) end = each.before_event;
    std::int64_t bytes = 0;
    for (std::size_t i = 0; i < end; ++i) {
        const Event& event = program.events[i];
        const Allocation& allocation = program.allocations[event.id];
        if (allocation.category != category) continue;
        if (event.kind == EventKind::alloc) bytes += allocation.bytes;
        if (event.kind == EventKind::free) bytes -= allocation.bytes;
    }
    return bytes;
}

std::int64_t largest(const Program& program, PhaseKind kind) {
    std::int64_t most = 0;
    for (std::size_t w = 0; w + 1 < program.windows.size(); ++w) {
        if (program.windows[w].phase.kind != kind) continue;
        for (std::size_t i = program.windows[w].first_event; i < program.windows[w + 1].first_event; ++i)
            if (program.events[i].kind == EventKind::alloc)
                most = std::max(most, program.allocations[program.events[i].id].bytes);
    }
    return most;
}

}  // namespace

TEST_CASE("a micro batch that is written again is the one that would have been run") {
    const Job job = on_a_card(GENERATE(2, 3, 6));
    const Program written = program_of(job);
    Program run;  // of symbols: nothing is written again
    model::record_symbols(
        job.model, job.plan, job.stack, job.device, {},
        [&](const symbolic::Symbols&, const Program& program, std::span<const Size>) { run = program; });
    check(written);
    REQUIRE(written.events.size() == run.events.size());
    REQUIRE(written.windows.size() == run.windows.size());
    REQUIRE(written.marks.size() == run.marks.size());
    for (std::size_t i = 0; i < run.events.size(); ++i) {
        CAPTURE(i);
        REQUIRE(written.events[i].kind == run.events[i].kind);
        REQUIRE(written.events[i].id == run.events[i].id);
    }
    for (std::size_t i = 0; i < run.allocations.size(); ++i) {
        REQUIRE(written.allocations[i].bytes == run.allocations[i].bytes);
        REQUIRE(written.allocations[i].category == run.allocations[i].category);
        REQUIRE(module_of(written, written.allocations[i]) == module_of(run, run.allocations[i]));
    }
    for (std::size_t i = 0; i < run.windows.size(); ++i) {
        REQUIRE(written.windows[i].phase == run.windows[i].phase);
        REQUIRE(written.windows[i].first_event == run.windows[i].first_event);
    }
    for (std::size_t i = 0; i < run.marks.size(); ++i) {
        REQUIRE(written.marks[i].name == run.marks[i].name);
        REQUIRE(written.marks[i].before_event == run.marks[i].before_event);
    }
}

TEST_CASE("cut cross entropy keeps no logits") {
    Job job = on_a_card(1);
    const std::int64_t logits = job.plan.batch.sequence_length * job.model.vocab_size * 2;
    CHECK(largest(program_of(job), PhaseKind::head) >= logits);
    job.plan.training.cut_cross_entropy = true;
    CHECK(largest(program_of(job), PhaseKind::head) < logits);
    job.plan.training.use_liger_kernel = true;
    CHECK_THROWS_AS(program_of(job), Error);
}

TEST_CASE("with steps inside of the backward pass no gradient outlives it") {
    Job job = on_a_card(1);
    job.plan.training.max_grad_norm = 0;
    const std::int64_t before = alive_at(program_of(job), "step2.after_backward", Category::gradients);
    CHECK(before > 0);
    job.plan.training.optimizer_in_backward = true;
    const Program program = program_of(job);
    CHECK(alive_at(program, "step2.after_backward", Category::gradients) == 0);
    CHECK(alive_at(program, "step2.after_backward", Category::optimizer_states) > 0);
    job.plan.training.gradient_accumulation_steps = 2;
    CHECK_THROWS_AS(program_of(job), Error);
}
