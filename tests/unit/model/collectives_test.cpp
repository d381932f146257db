// Buckets of gradients as torch cuts them, and what collectives allocate.
#include "model/parallel/collectives.hpp"

#include "engine/session.hpp"
#include "support/catch.hpp"
#include "unit/engine/session_bench.hpp"

namespace vramfit::test {

using namespace model;
using engine::Op;
using engine::Tensor;

namespace {

struct Bench : SessionBench {
    std::vector<Tensor> tensors(std::initializer_list<std::pair<std::int64_t, DType>> wanted) {
        std::vector<Tensor> out;
        for (const auto& [elements, dtype] : wanted)
            out.push_back(engine::empty(session, {elements}, dtype, Op::empty));
        return out;
    }
    std::vector<std::int64_t> new_bytes(std::size_t from) {
        std::vector<std::int64_t> out;
        const auto& all = session.recorder.program().allocations;
        for (std::size_t i = from; i < all.size(); ++i) out.push_back(all[i].bytes);
        return out;
    }
    std::size_t allocations() { return session.recorder.program().allocations.size(); }
};

using Buckets = std::vector<std::vector<std::size_t>>;

}  // namespace

TEST_CASE("a bucket closes when it has reached its limit, the last limit counts for all further ones") {
    Bench bench;
    const auto t = bench.tensors({{4, DType::float32},
                                  {4, DType::float32},
                                  {4, DType::float32},
                                  {4, DType::float32},
                                  {100, DType::float32},
                                  {1, DType::float32}});
    const std::int64_t limits[] = {16, 32};
    CHECK(assign_buckets(t, limits, true) == Buckets{{0}, {1, 2}, {3, 4}, {5}});
}

TEST_CASE("buckets hold one dtype; by place they are sorted by their first tensor") {
    Bench bench;
    const auto t =
        bench.tensors({{4, DType::float32}, {4, DType::bfloat16}, {4, DType::float32}, {4, DType::bfloat16}});
    const std::int64_t limit[] = {1 << 20};
    CHECK(assign_buckets(t, limit, true) == Buckets{{0, 2}, {1, 3}});
    const std::int64_t small[] = {32};
    CHECK(assign_buckets(t, small, true) == Buckets{{0, 2}, {1, 3}});
}

TEST_CASE("broadcasts copy buckets flat, two at a time; a tensor alone needs no copy") {
    Bench bench;
    const auto t = bench.tensors({{8, DType::float32}, {2, DType::float32}, {2, DType::float32}, {3, DType::float32}});
    const std::size_t before = bench.allocations();
    broadcast_coalesced(bench.session, t, 16);
    CHECK(bench.new_bytes(before) == std::vector<std::int64_t>{16});
}

TEST_CASE("shapes are compared by the number of parameters, then all of them at once") {
    Bench bench;
    std::vector<Tensor> t = {engine::empty(bench.session, {2, 3}, DType::float32, Op::empty),
                             engine::empty(bench.session, {5}, DType::float32, Op::empty)};
    const std::size_t before = bench.allocations();
    compare_shapes(bench.session, t, 3);
    CHECK(bench.new_bytes(before) == std::vector<std::int64_t>{8, 8, 8, 8, 24, 48});
}

}  // namespace vramfit::test
