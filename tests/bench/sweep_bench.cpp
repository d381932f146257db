// How long a prediction and a sweep take, from formulas and row by row.
#include <benchmark/benchmark.h>

#include "sweep/formulas.hpp"
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

SweepQuestion with_layers(SweepQuestion question, std::int64_t layers) {
    question.model.num_hidden_layers = layers;
    question.model.layer_types.assign(static_cast<std::size_t>(layers), LayerAttention::full);
    return question;
}

void predict_8b(benchmark::State& state) {
    const ModelSpec model = spec_of(*find_built_in("llama-3.1-8b"));
    const Stack stack = stack_from("").stack;
    const Device card = device_from("RTX 4090");
    const TrainPlan plan = qlora();
    for (auto _ : state) benchmark::DoNotOptimize(predict(model, plan, stack, card));
}

// The paper's space on the paper's card: from formulas, and row by row.
void sweep_of_paper(benchmark::State& state, bool prune) {
    const SweepQuestion question = paper_question();
    SweepOptions options;
    options.prune = prune;
    for (auto _ : state) benchmark::DoNotOptimize(sweep(question, options));
    state.SetItemsProcessed(static_cast<std::int64_t>(row_count(question.space)) * state.iterations());
}

// Every 16th row of the same space as a question of its own.
void predictions_of_paper(benchmark::State& state) {
    const SweepQuestion q = paper_question();
    std::int64_t rows = 0;
    for (auto _ : state)
        for (std::size_t row = 0; row < row_count(q.space); row += 16, ++rows)
            benchmark::DoNotOptimize(predict(q.model, plan_of(q.space, q.base, row), q.stack, q.device));
    state.SetItemsProcessed(rows);
}

// Rows of one path once its formula is known: the highest moment of each, in requested bytes. Of networks of `range`
// layers.
void rows_of_known_path(benchmark::State& state) {
    SweepQuestion question = with_layers(paper_question(), state.range(0));
    question.space.targets.resize(1);
    question.space.ranks = {8};
    question.space.batches = {4};
    question.space.lengths.clear();
    for (std::int64_t length = 1024; length < 1024 + 4096; ++length) question.space.lengths.push_back(length);
    TargetFormulas formulas(question);
    const std::size_t rows = row_count(question.space);
    for (std::size_t row = 0; row < rows; ++row) formulas.path_of(row);
    const std::size_t recorded = formulas.recorded();
    for (auto _ : state)
        for (std::size_t row = 0; row < rows; ++row) {
            formulas.path_of(row);
            benchmark::DoNotOptimize(formulas.highest());
        }
    if (formulas.recorded() != recorded) state.SkipWithError("a path was not known");
    state.SetItemsProcessed(static_cast<std::int64_t>(rows) * state.iterations());
}

// How a sweep grows: `range` lengths of one batch, rank and set of targets.
void sweep_by_rows(benchmark::State& state) {
    SweepQuestion question = paper_question();
    question.space.targets.resize(1);
    question.space.ranks = {8, 16};
    question.space.lengths.clear();
    for (std::int64_t i = 1; i <= state.range(0) / 8; ++i) question.space.lengths.push_back(i);
    for (auto _ : state) benchmark::DoNotOptimize(sweep(question, {}));
    state.SetComplexityN(state.range(0));
    state.SetItemsProcessed(state.range(0) * state.iterations());
}

// The same space of networks of `range` layers.
void sweep_by_layers(benchmark::State& state) {
    SweepQuestion question = with_layers(paper_question(), state.range(0));
    question.device = device_from("80GiB");
    question.space.targets.resize(1);
    for (auto _ : state) benchmark::DoNotOptimize(sweep(question, {}));
    state.SetComplexityN(state.range(0));
}

// The paper's space with the first `range` sets of targets.
void sweep_by_targets(benchmark::State& state) {
    SweepQuestion question = paper_question();
    question.space.targets.resize(static_cast<std::size_t>(state.range(0)));
    for (auto _ : state) benchmark::DoNotOptimize(sweep(question, {}));
    state.SetComplexityN(state.range(0));
}

}  // namespace

BENCHMARK(rows_of_known_path)->Arg(18)->RangeMultiplier(2)->Range(4, 64)->Unit(benchmark::kMillisecond);
BENCHMARK(sweep_by_rows)->RangeMultiplier(8)->Range(64, 1 << 18)->Unit(benchmark::kMillisecond)->Complexity();
BENCHMARK(sweep_by_layers)->RangeMultiplier(2)->Range(4, 64)->Unit(benchmark::kMillisecond)->Complexity();
BENCHMARK(sweep_by_targets)->DenseRange(1, 7, 2)->Unit(benchmark::kMillisecond)->Complexity();
BENCHMARK(predict_8b)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(sweep_of_paper, formulas, true)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(sweep_of_paper, row_by_row, false)->Unit(benchmark::kMillisecond)->Iterations(1);
BENCHMARK(predictions_of_paper)->Unit(benchmark::kMillisecond)->Iterations(1);
