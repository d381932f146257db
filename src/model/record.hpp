// From a question to its program: runs the libraries' steps on tensors without contents.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>

#include "spec/network/document.hpp"
#include "trace/formula.hpp"
#include "trace/path_growth.hpp"
#include "trace/program_template.hpp"
#include "vramfit/spec/device.hpp"
#include "vramfit/spec/model_spec.hpp"
#include "vramfit/spec/stack.hpp"
#include "vramfit/spec/train_plan.hpp"
#include "vramfit/trace/program.hpp"
#include "vramfit/trace/summary.hpp"

namespace vramfit::model {

/// Records load, preparation, adapters and training. The device's capability and multiprocessors decide about
/// kernels, its capacity does not matter here. Throws Error (invalid or unsupported).
Program record(const ModelSpec& spec, const TrainPlan& plan, const Stack& stack, const Device& device);

/// The same of a network whose forward was recorded from its own Python; `spec` is its configuration's.
Program record_recorded(const ModelSpec& spec, const TrainPlan& plan, const Stack& stack, const Device& device,
                        const network::Document& recording);

/// The same program without short cuts: micro batches that are known to repeat are run, too (repeated.hpp).
Program record_every_batch(const ModelSpec& spec, const TrainPlan& plan, const Stack& stack, const Device& device);

/// The same run, of which only the highest moments are kept: several times faster.
Summary summarize(const ModelSpec& spec, const TrainPlan& plan, const Stack& stack, const Device& device);

/// The sizes of a plan as plain numbers.
struct RunSizes;
RunSizes sizes_of(const TrainPlan& plan);

/// The values that an axis takes in a question; an axis of one value is a plain number.
struct AxisRange {
    std::int64_t low = 1;
    std::int64_t high = 1;
};

/// The axes of a formula, in the order of their values; those of one value, and the rank without adapters, have none.
struct FormulaAxes {
    AxisRange batch;
    AxisRange length;
    AxisRange rank;
};

/// A row's values of the axes that vary.
struct AxisValues {
    std::array<std::int64_t, 3> values{};
    std::size_t count = 0;
    std::span<const std::int64_t> all() const { return std::span(values).first(count); }
};

/// Those of a row with these sizes; without adapters the rank is no axis, whatever its range.
inline AxisValues values_on(const FormulaAxes& axes, std::int64_t batch, std::int64_t length,
                            std::optional<std::int64_t> rank) {
    AxisValues out;
    const auto put = [&out](const AxisRange& range, std::int64_t value) {
        if (range.low < range.high) out.values[out.count++] = value;
    };
    put(axes.batch, batch);
    put(axes.length, length);
    if (rank) put(axes.rank, *rank);
    return out;
}

/// The same run with its sizes as symbols: what the highest moment needs, exact for every row that takes the path of
/// this plan. `stack` and `device` must outlive the formula.
Formula formulate(const ModelSpec& spec, const TrainPlan& plan, const Stack& stack, const Device& device,
                  const FormulaAxes& axes);

/// The same, with the program of the path from the same run.
struct FormulaAndProgram {
    Formula formula;
    ProgramTemplate program;
};
FormulaAndProgram formulate_with_program(const ModelSpec& spec, const TrainPlan& plan, const Stack& stack,
                                         const Device& device, const FormulaAxes& axes);

/// What is proven of rows between two rows that take the path of this plan.
PathGrowth growth_of_path(const ModelSpec& spec, const TrainPlan& plan, const Stack& stack, const Device& device,
                          const FormulaAxes& axes);

/// The same, with the whole program: that of any row which takes the path of this plan. Functions in it ask the device,
/// which has to outlive it.
ProgramTemplate record_template(const ModelSpec& spec, const TrainPlan& plan, const Stack& stack, const Device& device,
                                const FormulaAxes& axes);

/// The same, shown to `use` while the symbols live: the program and the sizes of its allocations by their ids.
using UseSymbols =
    std::function<void(const symbolic::Symbols& symbols, const Program& program, std::span<const Size> bytes)>;
void record_symbols(const ModelSpec& spec, const TrainPlan& plan, const Stack& stack, const Device& device,
                    const FormulaAxes& axes, const UseSymbols& use);

}  // namespace vramfit::model
