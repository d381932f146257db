// Context parallelism: what a ring of processes allocates, which process sees what, and what is refused.
#include "model/parallel/context/context_parallel.hpp"

#include <algorithm>

#include "model/record.hpp"
#include "support/catch.hpp"
#include "support/llama.hpp"
#include "vramfit/base/error.hpp"
#include "vramfit/spec/plan_check.hpp"

namespace vramfit::test {

using namespace model;

namespace {

Job llama_in_context(std::int64_t processes, std::int64_t rank = 0) {
    Job job = small_llama(2);
    job.plan.training.bf16 = true;
    DistributedPlan& plan = job.plan.distributed.emplace();
    plan.world_size = processes;
    plan.rank = rank;
    Fsdp2Plan fsdp;
    fsdp.context.size = processes;
    plan.method = fsdp;
    return job;
}

Fsdp2Plan& fsdp_of(Job& job) { return *job.plan.distributed->as<Fsdp2Plan>(); }

Program recorded_part(const Job& job) { return record(job.model, job.plan, job.stack, job.device); }

std::int64_t taken_of(const Program& program, std::int64_t bytes) {
    return std::count_if(program.allocations.begin(), program.allocations.end(),
                         [bytes](const Allocation& a) { return a.bytes == bytes; });
}

std::string refusal_of(const Job& job) {
    try {
        (void)check_plan(job.model, job.plan, job.stack);
        (void)recorded_part(job);
    } catch (const Error& error) {
        return error.problems().front().where + ": " + error.problems().front().what;
    }
    return {};
}

bool is_refused(const Job& job, std::string_view where, std::string_view what) {
    const std::string text = refusal_of(job);
    return text.starts_with(where) && text.find(what) != text.npos;
}

}  // namespace

TEST_CASE("a process has a part of each sequence: logits are of its tokens") {
    const Job job = llama_in_context(2);
    Job whole = job;
    fsdp_of(whole).context.size = 1;
    const std::int64_t logits = job.plan.batch.sequence_length * job.model.vocab_size * 4;
    CHECK(taken_of(recorded_part(job), logits) < taken_of(recorded_part(whole), logits));
    CHECK(taken_of(recorded_part(job), logits / 2) > taken_of(recorded_part(whole), logits / 2));
}

TEST_CASE("all-gather takes the keys and values of all processes, all-to-all those of one") {
    const auto received = [](bool gathers) {
        Job job = llama_in_context(4);
        fsdp_of(job).context.gathers = gathers;
        const std::int64_t part =
            2 * job.plan.batch.sequence_length / 4 * job.model.num_key_value_heads * job.model.head_dim * 2;
        return taken_of(recorded_part(job), 4 * part);
    };
    CHECK(received(true) > received(false));
}

TEST_CASE("the place in the ring is the rank within those that share a sequence") {
    Job job = llama_in_context(2);
    job.plan.distributed->world_size = 6;
    job.plan.distributed->rank = 5;
    REQUIRE(ring_of(job.plan));
    CHECK(ring_of(job.plan)->size == 2);
    CHECK(ring_of(job.plan)->rank == 1);
    fsdp_of(job).context.size = 1;
    CHECK_FALSE(ring_of(job.plan));
}

TEST_CASE("padding at an end is in the parts of the first processes only") {
    Job job = llama_in_context(4);
    job.plan.batch.attention_mask = AttentionMask::right_padded;
    job.plan.batch.sequence_length = 128;  // 16 places are padded, parts have 16
    CHECK(sees_padding(job.plan));
    job.plan.distributed->rank = 1;
    CHECK_FALSE(sees_padding(job.plan));
    job.plan.distributed.reset();
    CHECK(sees_padding(job.plan));
    job.plan.batch.attention_mask = AttentionMask::ones;
    CHECK_FALSE(sees_padding(job.plan));
}

TEST_CASE("what the libraries stop at is refused with their reason") {
    Job job = llama_in_context(2);
    REQUIRE(refusal_of(job).empty());
    job.plan.batch.sequence_length = 126;
    CHECK(is_refused(job, "batch.sequence_length", "126 tokens do not divide into 2 x 2 parts"));
    job = llama_in_context(2);
    job.plan.load.attention = AttentionImplementation::eager;
    CHECK(is_refused(job, "load.attn_implementation", "only with SDPA attention, you are using eager"));
    job = llama_in_context(2);
    fsdp_of(job).context.size = 3;
    CHECK(is_refused(job, "distributed.cp_size", "total_size does not match num_processes"));
    job = llama_in_context(2);
    job.plan.load.sdpa_kernel = SdpaKernel::math;
    CHECK(is_refused(job, "distributed.cp_size", "mixed torch.Tensor and DTensor"));
    job = llama_in_context(2);
    job.model.head_dim = 36;
    CHECK(is_refused(job, "distributed.cp_size", "mat1 and mat2 shapes cannot be multiplied"));
    job = llama_in_context(2);
    job.model.model_type = "mistral";
    job.model.sliding_window = 64;
    CHECK(is_refused(job, "model.sliding_window", "does not support attention layers of type"));
}

TEST_CASE("what was not compared under context parallelism is refused") {
    Job job = llama_in_context(2);
    job.plan.batch.attention_mask = AttentionMask::absent;
    CHECK(is_refused(job, "batch.attention_mask", "look like packed rows"));
    job = llama_in_context(2);
    job.model.rope_type = "dynamic";
    CHECK(is_refused(job, "model.rope_scaling", "dynamic is not supported with context parallelism"));
}

}  // namespace vramfit::test
