// How long a prediction and a sweep take, and what early stopping saves: a ratio, which holds on every machine.
#include <benchmark/benchmark.h>

#include <chrono>

#include "vramfit/predict/predict.hpp"
#include "vramfit/spec/devices.hpp"
#include "vramfit/spec/models.hpp"
#include "vramfit/spec/stacks.hpp"
#include "vramfit/sweep/sweep.hpp"

using namespace vramfit;

namespace {

TrainPlan qlora() {
    TrainPlan plan;
    plan.peft.emplace();
    plan.load.quantization = QuantizationPlan{};
    plan.prepare_kbit = PreparePlan{};
    plan.training.gradient_checkpointing = true;
    plan.training.optim = "paged_adamw_32bit";
    plan.batch.sequence_length = 512;
    return plan;
}

SweepQuestion paper_question() {
    SweepQuestion q;
    q.model = spec_of(*find_built_in("gemma-2b"));
    q.base = qlora();
    q.stack = stack_from("").stack;
    q.device = device_from("8GiB");
    q.space = paper_space(q.model);
    return q;
}

double seconds_of(const SweepQuestion& question, const SweepOptions& options) {
    const auto start = std::chrono::steady_clock::now();
    benchmark::DoNotOptimize(sweep(question, options));
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

void predict_8b(benchmark::State& state) {
    const ModelSpec model = spec_of(*find_built_in("llama-3.1-8b"));
    const Stack stack = stack_from("").stack;
    const Device card = device_from("RTX 4090");
    const TrainPlan plan = qlora();
    for (auto _ : state) benchmark::DoNotOptimize(predict(model, plan, stack, card));
}

// The paper's space on the paper's card; `saved` is how many times longer it takes without early stopping.
void sweep_of_paper(benchmark::State& state) {
    const SweepQuestion question = paper_question();
    SweepOptions whole;
    whole.prune = false;
    const double without = seconds_of(question, whole);
    double with = 0;
    for (auto _ : state) with += seconds_of(question, {});
    state.counters["configurations"] = static_cast<double>(row_count(question.space));
    state.counters["saved"] = without / (with / static_cast<double>(state.iterations()));
}

}  // namespace

BENCHMARK(predict_8b)->Unit(benchmark::kMillisecond);
BENCHMARK(sweep_of_paper)->Unit(benchmark::kMillisecond);
