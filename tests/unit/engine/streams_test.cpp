// Streams: what the host knows to be done, and what the allocator makes of it.
#include "engine/session.hpp"
#include "support/catch.hpp"
#include "unit/engine/session_bench.hpp"
#include "vramfit/alloc/replay.hpp"

namespace vramfit::test {

using namespace engine;

namespace {

struct StreamBench : test::SessionBench {
    /// (stream, frees) of the events of that kind.
    std::vector<std::pair<int, std::uint32_t>> done() {
        std::vector<std::pair<int, std::uint32_t>> out;
        for (const Event& e : session.recorder.program().events)
            if (e.kind == EventKind::stream_done) out.emplace_back(e.stream, e.id);
        return out;
    }
    Tensor block(std::int64_t mib = 32) { return empty(session, {mib << 20}, DType::uint8, Op::empty); }
};

using Done = std::vector<std::pair<int, std::uint32_t>>;

}  // namespace

TEST_CASE("the host knows of another stream only through what it has waited for") {
    StreamBench bench;
    Streams& streams = bench.session.streams;
    Tensor used = bench.block();
    streams.record(used, 1);
    streams.launch(1);
    used.reset();
    streams.host_waits(0);
    CHECK(bench.done().empty());
    streams.wait(std::uint8_t{0}, std::uint8_t{1});
    streams.host_waits(0);
    CHECK(bench.done() == Done{{1, 1}});
    streams.host_waits_for_all();
    CHECK(bench.done() == Done{{1, 1}});
}

TEST_CASE("a block that another stream used is active until the host knows it to be done") {
    StreamBench bench;
    Streams& streams = bench.session.streams;
    constexpr std::int64_t kMiB = std::int64_t{1} << 20;
    Tensor used = bench.block();
    streams.record(used, 1);
    streams.launch(1);
    used.reset();
    const Tensor second = bench.block();
    streams.host_waits_for_all();
    const Tensor third = bench.block();
    bench.session.recorder.mark("end");
    const Timeline timeline = replay(bench.session.recorder.take());
    CHECK(timeline.peak.allocated == 64 * kMiB);
    CHECK(timeline.peak.active == 64 * kMiB);
    CHECK(timeline.peak.reserved == 64 * kMiB);
}

TEST_CASE("a free waits for the work that was launched before it, not for what an event has seen of frees") {
    StreamBench bench;
    Streams& streams = bench.session.streams;
    Tensor first = bench.block(), second = bench.block();
    for (const Tensor& t : {first, second}) streams.record(t, 1);
    streams.launch(1);
    first.reset();
    const StreamClock event = streams.now(1);
    CHECK(!streams.is_done(event));
    second.reset();  // nothing was launched since
    streams.host_waits(event);
    CHECK(streams.is_done(event));
    CHECK(bench.done() == Done{{1, 2}});
    Tensor third = bench.block();
    streams.record(third, 1);
    third.reset();  // all that it could wait for is done
    CHECK(bench.done() == Done{{1, 2}, {1, 3}});
}

TEST_CASE("each stream has a pool of its own") {
    StreamBench bench;
    constexpr std::int64_t kMiB = std::int64_t{1} << 20;
    {
        const OnStream on(bench.session.recorder, 1);
        const Tensor there = bench.block();
    }
    const Tensor here = bench.block();
    const Timeline timeline = replay(bench.session.recorder.take());
    CHECK(timeline.peak.allocated == 32 * kMiB);
    CHECK(timeline.peak.reserved == 64 * kMiB);
}

}  // namespace vramfit::test
