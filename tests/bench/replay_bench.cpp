// How long the replay of a training run takes for each event.
#include <benchmark/benchmark.h>

#include <cstdint>
#include <random>
#include <vector>

#include "vramfit/alloc/replay.hpp"

using namespace vramfit;

namespace {

std::uint32_t begin(Program& program, std::int64_t bytes) {
    const auto id = static_cast<std::uint32_t>(program.allocations.size());
    program.allocations.push_back({bytes, Category::temporaries, 0, -1});
    program.events.push_back({EventKind::alloc, id});
    return id;
}

void end(Program& program, std::uint32_t id) { program.events.push_back({EventKind::free, id}); }

// A step of `layers` layers: each keeps ten activations and makes temporaries; the backward frees them in reverse.
void step(Program& program, int layers, std::mt19937& random) {
    std::vector<std::vector<std::uint32_t>> kept(static_cast<std::size_t>(layers));
    const auto bytes = [&] { return std::int64_t{1} << (10 + random() % 16); };
    for (auto& layer : kept) {
        program.windows.push_back({{PhaseKind::forward_layer, 0, -1, 0}, program.events.size()});
        for (int i = 0; i < 10; ++i) {
            const std::uint32_t temporary = begin(program, bytes());
            layer.push_back(begin(program, bytes() + 512 * static_cast<std::int64_t>(random() % 4)));
            end(program, temporary);
        }
    }
    for (auto layer = kept.rbegin(); layer != kept.rend(); ++layer) {
        program.windows.push_back({{PhaseKind::backward_layer, 0, -1, 0}, program.events.size()});
        for (; !layer->empty(); layer->pop_back()) {
            const std::uint32_t gradient = begin(program, bytes());
            const std::uint32_t temporary = begin(program, bytes());
            end(program, layer->back());
            end(program, temporary);
            end(program, gradient);
        }
    }
}

Program training_run(int layers, int steps) {
    std::mt19937 random(1);
    Program program;
    program.windows.push_back({{PhaseKind::start, -1, -1, -1}, 0});
    for (int i = 0; i < 9 * layers; ++i) begin(program, 1 << (20 + i % 6));
    for (int i = 0; i < steps; ++i) step(program, layers, random);
    return program;
}

void count_events(benchmark::State& state, const Program& program) {
    const auto events = static_cast<double>(program.events.size());
    state.counters["events"] = events;
    state.counters["time_per_event"] =
        benchmark::Counter(events, benchmark::Counter::kIsIterationInvariantRate | benchmark::Counter::kInvert);
}

void replay_run(benchmark::State& state, const char* conf) {
    const Program program = training_run(static_cast<int>(state.range(0)), 3);
    ReplayOptions options;
    options.settings = settings_from(conf);
    for (auto _ : state) benchmark::DoNotOptimize(replay(program, options));
    count_events(state, program);
}

void requested_run(benchmark::State& state) {
    const Program program = training_run(static_cast<int>(state.range(0)), 3);
    for (auto _ : state) benchmark::DoNotOptimize(requested_peaks(program));
    count_events(state, program);
}

// One cached block taken and given back, among `range` other free blocks.
void cached_block(benchmark::State& state) {
    CachingAllocator allocator;
    std::vector<BlockId> blocks;
    for (std::int64_t i = 0; i < 2 * state.range(0); ++i) blocks.push_back(allocator.malloc((2 + i % 7) * kMiB).block);
    for (std::size_t i = 0; i < blocks.size(); i += 2) allocator.free(blocks[i]);
    for (auto _ : state) {
        const BlockId block = allocator.malloc(3 * kMiB).block;
        allocator.free(block);
    }
}

}  // namespace

BENCHMARK_CAPTURE(replay_run, ordinary, "")->Arg(32)->Arg(128)->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(replay_run, expandable, "expandable_segments:True")->Arg(32)->Arg(128)->Unit(benchmark::kMicrosecond);
BENCHMARK(requested_run)->Arg(128)->Unit(benchmark::kMicrosecond);
BENCHMARK(cached_block)->Arg(100)->Arg(1000)->Arg(100000);
