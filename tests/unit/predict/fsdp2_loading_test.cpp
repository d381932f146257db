// FSDP2 with cpu_ram_efficient_loading: which process needs what while rows are sent.
#include "support/catch.hpp"
#include "support/llama.hpp"
#include "vramfit/predict/predict.hpp"

namespace vramfit::test {

namespace {

Job sent_llama(std::int64_t processes) {
    Job job = small_llama(2);
    DistributedPlan& plan = job.plan.distributed.emplace();
    plan.world_size = processes;
    Fsdp2Plan fsdp;
    fsdp.cpu_ram_efficient_loading = true;
    plan.method = fsdp;
    return job;
}

Levels peak_of(const Job& job) { return predict(job).peak; }

Levels peak_of(Job job, std::int64_t rank) {
    job.plan.distributed->rank = rank;
    job.plan.distributed->rank_is_asked = true;
    return peak_of(job);
}

}  // namespace

TEST_CASE("where no process is asked about, the answer covers all of them") {
    // 1376 rows and 512 do not divide by seven; 512 do by two.
    for (const std::int64_t processes : {2, 7}) {
        const Job job = sent_llama(processes);
        INFO(processes);
        for (std::int64_t rank = 0; rank < processes; ++rank) {
            CHECK(peak_of(job).requested >= peak_of(job, rank).requested);
            CHECK(peak_of(job).reserved >= peak_of(job, rank).reserved);
        }
    }
}

}  // namespace vramfit::test
