// ZeRO-1 and 2: who owns which part of which parameter, what "auto" stands for, what a few scalars take.
#include "engine/session.hpp"
#include "model/parallel/zero/groups.hpp"
#include "model/parallel/zero/norms.hpp"
#include "support/catch.hpp"
#include "unit/engine/session_bench.hpp"

namespace vramfit::test {

using namespace model;
using engine::Op;
using engine::Tensor;

namespace {

struct ZeroBench : SessionBench {
    std::vector<Tensor> tensors;

    ZeroGroup group(std::initializer_list<std::int64_t> elements, std::int64_t world, std::int64_t rank) {
        for (const std::int64_t n : elements)
            tensors.push_back(engine::empty(session, {n}, DType::bfloat16, Op::parameter));
        std::vector<NamedParameter> parameters;
        for (Tensor& t : tensors) parameters.push_back({{}, {}, {}, &t});
        return make_group(parameters, world, rank);
    }
};

std::vector<std::pair<std::int64_t, std::int64_t>> parts(const ZeroParameter& p) {
    std::vector<std::pair<std::int64_t, std::int64_t>> out;
    for (const OwnedPart& part : p.parts) out.emplace_back(part.rank, part.elements);
    return out;
}

}  // namespace

TEST_CASE("a ZeRO group is padded to two elements for each rank, and cut without regard to parameters") {
    ZeroBench bench;
    const ZeroGroup group = bench.group({10, 3, 6}, 4, 1);
    CHECK(group.elements == 19);
    CHECK(group.padded == 24);
    CHECK(group.partition == 6);
    using Parts = std::vector<std::pair<std::int64_t, std::int64_t>>;
    CHECK(parts(group.parameters[0]) == Parts{{0, 6}, {1, 4}});
    CHECK(parts(group.parameters[1]) == Parts{{1, 2}, {2, 1}});
    CHECK(parts(group.parameters[2]) == Parts{{2, 5}, {3, 1}});
    CHECK(group.own == std::vector<std::size_t>{0, 1});
    CHECK(span_of(group, group.parameters[0], 1).begin == 6);
    CHECK(span_of(group, group.parameters[0], 3).elements == 0);
}

TEST_CASE("a rank behind all parameters owns padding alone") {
    ZeroBench bench;
    const ZeroGroup group = bench.group({2}, 4, 3);
    CHECK(group.partition == 2);
    CHECK(group.own.empty());
}

TEST_CASE("\"auto\" follows the hidden size, DeepSpeed's defaults do not") {
    ZeroPlan plan;
    CHECK(sizes_of(plan, 2048).bucket == 500'000'000);
    CHECK(sizes_of(plan, 2048).persistence == 100'000);
    plan.reduce_bucket_size.reset();
    plan.prefetch_bucket_size.reset();
    plan.param_persistence_threshold.reset();
    CHECK(sizes_of(plan, 2048).bucket == 4194304);
    CHECK(sizes_of(plan, 2048).prefetch == 3774873);
    CHECK(sizes_of(plan, 2048).persistence == 20480);
}

TEST_CASE("the overflow check of a gradient reduces it twice and takes single bytes; a norm takes it in float64") {
    ZeroBench bench;
    const Tensor gradient = engine::empty(bench.session, {64}, DType::bfloat16, Op::empty);
    using Taken = std::vector<std::int64_t>;
    CHECK(bench.allocated_by([&] { (void)has_inf_or_nan(gradient); }) == Taken{2, 2, 1, 1, 1, 2, 2, 1, 1, 1, 1, 1});
    CHECK(bench.allocated_by([&] { (void)double_norm(gradient); }) == Taken{512, 8});
}

}  // namespace vramfit::test
