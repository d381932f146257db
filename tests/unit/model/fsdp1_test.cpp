// FSDP1: flat parameters, what gathering takes and gives back, and on which streams.
#include <algorithm>
#include <deque>
#include <memory>

#include "engine/backward.hpp"
#include "engine/ops/pointwise.hpp"
#include "engine/ops/reduce.hpp"
#include "engine/ops/split.hpp"
#include "model/parallel/fsdp1/unit.hpp"
#include "support/catch.hpp"
#include "unit/engine/session_bench.hpp"

namespace vramfit::test {

using namespace model;
using engine::Tensor;

namespace {

using Bytes = std::vector<std::int64_t>;

/// Units of bfloat16 parameters, as the last of three processes has them.
struct Fsdp1Bench : SessionBench {
    Fsdp1Shared shared{session, 3, 2, DType::bfloat16, {}, true, {}, {}, {}, true};
    std::deque<Tensor> places;

    std::unique_ptr<Fsdp1Unit> unit(const std::vector<std::int64_t>& elements, bool is_root = false) {
        std::vector<ParameterPlaces> parameters;
        for (const std::int64_t n : elements) {
            places.push_back(engine::empty(session, {n}, DType::bfloat16, engine::Op::parameter));
            places.back().set_requires_grad(true);
            parameters.push_back({&places.back()});
        }
        return std::make_unique<Fsdp1Unit>(shared, parameters, is_root);
    }
    /// Bytes allocated (positive) and asked to be freed (negative) by `code`.
    template <class Code>
    Bytes events(Code code) {
        const Program& program = session.recorder.program();
        const std::size_t before = program.events.size();
        code();
        Bytes out;
        for (std::size_t i = before; i < program.events.size(); ++i) {
            const Event& e = program.events[i];
            if (e.kind == EventKind::alloc) out.push_back(program.allocations[e.id].bytes);
            if (e.kind == EventKind::free) out.push_back(-program.allocations[e.id].bytes);
        }
        return out;
    }
    int stream_of_last() { return session.recorder.program().allocations.back().stream; }
};

}  // namespace

TEST_CASE("a flat parameter is padded to 16 bytes between parameters and to the processes at its end") {
    Fsdp1Bench bench;
    std::unique_ptr<Fsdp1Unit> unit;
    // 5 elements, 3 of padding, 8, and 2 more for three parts of 6.
    CHECK(bench.events([&] {
        unit = bench.unit({5, 8});
    }) == Bytes{10, 16, 6, 6, -6, 4, 4, -4, 36, -6, -4, 12, -36, -10, -16});
    CHECK(bench.places[0].numel() == 0);
    CHECK(bench.places[1].numel() == 4);
}

TEST_CASE("what is trained becomes float32, and its 16-bit part stays until the first forward is over") {
    Fsdp1Bench bench;
    const auto unit = bench.unit({12});
    CHECK(bench.events([&] { unit->upcast(); }) == Bytes{16});
    CHECK(bench.events([&] { unit->make_buffers(); }) == Bytes{8, -8, 24, -24, 48, -48});
    CHECK(bench.events([&] { unit->pre_forward(); }) == Bytes{8, 24, -8});
    CHECK(bench.stream_of_last() == 1);
    CHECK(bench.places[0].requires_grad());
    CHECK_FALSE(bench.places[0].is_leaf());
    CHECK(bench.events([&] { unit->post_forward(); }) == Bytes{-8, -24});
    CHECK(bench.places[0].is_leaf());
}

TEST_CASE("the root stays gathered after its forward") {
    Fsdp1Bench bench;
    const auto root = bench.unit({6}, true);
    root->make_buffers();
    root->pre_forward();
    CHECK(bench.events([&] { root->post_forward(); }).empty());
}

TEST_CASE("two gathered units may be in flight, the host waits before the third") {
    Fsdp1Bench bench;
    std::vector<std::unique_ptr<Fsdp1Unit>> units;
    for (int i = 0; i < 3; ++i) units.push_back(bench.unit({6}));
    const auto done = [&bench] {
        std::size_t count = 0;
        for (const Event& e : bench.session.recorder.program().events) count += e.kind == EventKind::stream_done;
        return count;
    };
    for (const auto& unit : units) unit->make_buffers();
    for (std::size_t i = 0; i < 2; ++i) {
        units[i]->pre_forward();
        bench.session.streams.launch(0);
        units[i]->post_forward();
    }
    CHECK(done() == 0);
    units[2]->pre_forward();
    CHECK(done() == 1);
}

TEST_CASE("the gradient of a split vector is one vector, on the stream on which it was split") {
    Fsdp1Bench bench;
    engine::Session& session = bench.session;
    const Tensor flat = engine::empty(session, {8}, DType::float32);
    flat.set_requires_grad(true);
    std::vector<Tensor> parts;
    {
        const engine::OnStream stream(session.recorder, 1);
        parts = engine::split_with_sizes(flat, {5, 3});
    }
    const Tensor loss = engine::sum_all(engine::mul(parts[0], 2.0));
    const Bytes events = bench.events([&] { engine::backward(loss); });
    // The part without a gradient is zeros; the other's gradient was made on the default stream and waits for stream 1.
    CHECK(std::count(events.begin(), events.end(), 12) == 1);
    CHECK(flat->grad);
    CHECK(flat.grad().numel() == 8);
    CHECK(bench.stream_of_last() == 1);
    const auto& all = session.recorder.program().events;
    CHECK(std::any_of(all.begin(), all.end(),
                      [](const Event& e) { return e.kind == EventKind::record_stream && e.stream == 1; }));
}

}  // namespace vramfit::test
