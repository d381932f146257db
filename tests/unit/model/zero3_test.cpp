// ZeRO-3: pieces, gathers one by one and together, what is gathered ahead and what stays.
#include "engine/session.hpp"
#include "model/network/called.hpp"
#include "model/parallel/zero/coordinator.hpp"
#include "support/catch.hpp"
#include "unit/engine/session_bench.hpp"

namespace vramfit::test {

using namespace model;
using engine::ModuleKey;
using engine::Op;
using engine::Tensor;

namespace {

DistributedPlan three_processes(ZeroPlan zero = {}) {
    zero.stage = 3;
    DistributedPlan plan;
    plan.world_size = 3;
    plan.method = zero;
    return plan;
}

/// Modules of one parameter each, called one after the other.
struct Zero3Bench : SessionBench {
    explicit Zero3Bench(std::int64_t prefetch, ZeroPlan zero = {})
        : plan(three_processes(zero)), partitions(session, plan), coordinator(session, partitions, zero, prefetch) {}

    void add(std::int64_t elements) {
        const std::size_t id = partitions.convert(engine::empty(session, {elements}, DType::bfloat16, Op::parameter));
        partitions.partition(id);
        coordinator.set_parameters(key_of(&places[id], Part::itself), {id});
    }
    /// One pass over all modules; bytes of what is allocated at each.
    std::vector<std::vector<std::int64_t>> forward() {
        std::vector<std::vector<std::int64_t>> out;
        coordinator.reset_step();
        for (std::size_t id = 0; id < partitions.all().size(); ++id) {
            const std::size_t module = coordinator.module_at(key_of(&places[id], Part::itself));
            out.push_back(allocated_by([&] {
                coordinator.fetch(module, true);
                coordinator.release(module, true);
            }));
        }
        return out;
    }
    bool is_there(std::size_t id) { return partitions[id].tensor->storage->bytes.value() > 0; }

    int places[8] = {};
    DistributedPlan plan;
    Partitions partitions;
    Coordinator coordinator;
};

using Passes = std::vector<std::vector<std::int64_t>>;

}  // namespace

TEST_CASE("a parameter is padded to the number of processes") {
    Zero3Bench bench(0);
    bench.add(10);
    CHECK(bench.partitions[0].in_piece == 4);
    CHECK(bench.session.recorder.program().allocations.back().bytes == 8);
    CHECK(!bench.is_there(0));
    CHECK(bench.partitions[0].tensor.numel() == 10);
    const std::size_t id = 0;
    bench.partitions.gather({&id, 1});
    CHECK(bench.session.recorder.program().allocations.back().bytes == 24);
    CHECK(bench.is_there(0));
}

TEST_CASE("the first pass gathers module by module, the next ones ahead of use") {
    ZeroPlan zero;
    zero.max_reuse_distance = 0;
    Zero3Bench bench(15, zero);
    for (const std::int64_t elements : {9, 9, 10, 30}) bench.add(elements);
    CHECK(bench.forward() == Passes{{18}, {18}, {24}, {60}});
    // At the first module two more come in one flat buffer; at the second these are split and the last one comes.
    CHECK(bench.forward() == Passes{{18, 42}, {18, 20, 60}, {}, {}});
}

TEST_CASE("a small parameter stays once a pass is on record, until the step lets all go") {
    Zero3Bench bench(0);
    bench.add(9);
    bench.partitions[0].persists = true;
    bench.forward();
    CHECK(!bench.is_there(0));
    bench.forward();
    CHECK(bench.is_there(0));
    bench.coordinator.release_all({0});
    CHECK(!bench.is_there(0));
}

}  // namespace vramfit::test
