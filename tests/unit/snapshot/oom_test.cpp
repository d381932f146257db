// Texts of torch's OutOfMemoryError, of every wording since 2.0, and what they are about.
#include <fmt/format.h>

#include "support/catch.hpp"
#include "support/llama.hpp"
#include "vramfit/alloc/walk.hpp"
#include "vramfit/base/error.hpp"
#include "vramfit/predict/predict.hpp"
#include "vramfit/snapshot/oom.hpp"

using namespace vramfit;

namespace {

constexpr const char* kNew =
    "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 23.64 GiB "
    "of "
    "which 1.02 GiB is free. Including non-PyTorch memory, this process has 22.61 GiB memory in use. Of the allocated "
    "memory 20.11 GiB is allocated by PyTorch, and 2.03 GiB is reserved by PyTorch but unallocated. If reserved but "
    "unallocated memory is large try setting PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True to avoid fragmentation.";

std::int64_t gib(double amount) { return static_cast<std::int64_t>(amount * static_cast<double>(kGiB)); }

}  // namespace

TEST_CASE("the wording of torch 2.2 to 2.15") {
    const OomMessage m = read_oom_message(kNew, "file");
    CHECK(m.tried.bytes == 2 * kGiB);
    CHECK(m.total->holds(gib(23.64)));
    CHECK(m.free->holds(gib(1.02)));
    CHECK(m.process->holds(gib(22.61)));
    CHECK_FALSE(m.others);
    CHECK_FALSE(m.allowed);
    CHECK(m.allocated.holds(gib(20.11)));
    CHECK(m.unallocated->holds(gib(2.03)));
}

TEST_CASE("processes beside this one, a memory fraction, private pools, older wordings, a wrapped log") {
    const OomMessage m = read_oom_message(
        "CUDA out of memory. Tried to allocate 512.00 MiB. GPU 0 has a total capacty of 14.58 GiB of\n which 375.56 "
        "MiB "
        "is free. Process 17 has 1.50 GiB memory in use. Process 2 has 2.00 GiB memory in use. Including non-PyTorch "
        "memory, this process has 10.00 GiB memory in use. 12.00 GiB allowed; Of the allocated memory 9.25 GiB is "
        "allocated by PyTorch, with 20.00 MiB allocated in private pools (e.g., CUDA Graphs), and 100.00 MiB is "
        "reserved "
        "by PyTorch but unallocated.",
        "file");
    CHECK(m.tried.bytes == 512 * kMiB);
    CHECK(m.total->holds(gib(14.58)));
    CHECK(m.free->holds(static_cast<std::int64_t>(375.56 * kMiB)));
    CHECK(m.others->holds(gib(3.5)));
    CHECK(m.process->bytes == 10 * kGiB);
    CHECK(m.allowed->bytes == 12 * kGiB);
    CHECK(m.allocated.holds(gib(9.25)));
    CHECK(m.unallocated->bytes == 100 * kMiB);
    const OomMessage old = read_oom_message(
        "CUDA out of memory. Tried to allocate 20.00 MiB (GPU 0; 23.69 GiB total capacity; 21.10 GiB already "
        "allocated; "
        "5.06 MiB free; 22.00 GiB reserved in total by PyTorch)",
        "file");
    CHECK(old.total->holds(gib(23.69)));
    CHECK(old.allocated.holds(gib(21.10)));
    CHECK(old.free->holds(static_cast<std::int64_t>(5.06 * kMiB)));
    CHECK(old.unallocated->holds(gib(0.9)));
}

TEST_CASE("a process that is named by its number only is this one") {
    const OomMessage m = read_oom_message(
        "Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 23.64 GiB of which 1.02 GiB is free. Process 31 has "
        "22.61 "
        "GiB memory in use. Of the allocated memory 20.11 GiB is allocated by PyTorch, and 2.03 GiB is reserved by "
        "PyTorch "
        "but unallocated.",
        "file");
    CHECK(m.process->holds(gib(22.61)));
    CHECK_FALSE(m.others);
}

TEST_CASE("other texts are refused") {
    CHECK_THROWS_AS(read_oom_message("", "file"), Error);
    CHECK_THROWS_AS(read_oom_message("RuntimeError: CUDA error: out of memory", "file"), Error);
    CHECK_THROWS_AS(read_oom_message("Tried to allocate more than 1EB memory.", "file"), Error);
    CHECK_THROWS_AS(read_oom_message("Tried to allocate 2.00 GiB.", "file"), Error);
}

TEST_CASE("every request of a run is found again by what torch would print of it") {
    const Job job = test::small_llama();
    const Program program = program_of(job);
    std::size_t seen = 0, same = 0;
    EventLevels before;
    walk(program, {}, [&](const WalkedEvent& walked) {
        const PoolStatistics& all = walked.allocator->statistics().all();
        const EventLevels held = std::exchange(before, {all.allocated.current, all.reserved.current});
        if (all.reserved.current <= held.reserved || all.reserved.current - held.reserved < 4 * kMiB || ++seen % 7 != 0)
            return;
        const auto mib = [](std::int64_t bytes) {
            return fmt::format("{:.2f} MiB", static_cast<double>(bytes) / kMiB);
        };
        const OomMessage m =
            read_oom_message(fmt::format("Tried to allocate {}. Of the allocated memory {} is allocated by PyTorch",
                                         mib(all.reserved.current - held.reserved), mib(held.allocated)),
                             "file");
        const OomExplanation e =
            explain_oom(m, program, {}, job.plan.training.per_device_train_batch_size, job.plan.batch.sequence_length);
        same += e.same_state && m.allocated.holds(e.nearest->allocated) ? 1 : 0;
        CHECK(e.nearest);
    });
    CHECK(same == seen / 7);
}
