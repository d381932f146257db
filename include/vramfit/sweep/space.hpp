// The configurations that a sweep looks at: a plan and the values of the axes that vary.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "vramfit/spec/train_plan.hpp"

namespace vramfit {

/// A choice of target modules. "No target at all" is not a configuration.
struct TargetSet {
    std::string name;                  ///< "attention+mlp", or the modules joined by "+"
    std::vector<std::string> modules;  ///< {"q_proj", ...}
};

/// Every combination of one value of each axis is a row; an axis with one value is fixed.
struct SweepSpace {
    std::vector<std::int64_t> ranks;
    std::vector<std::int64_t> batches;
    std::vector<std::int64_t> lengths;
    std::vector<TargetSet> targets;
};

/// One row of a space: positions on the axes.
struct Coordinates {
    std::size_t target = 0;
    std::size_t rank = 0;
    std::size_t batch = 0;
    std::size_t length = 0;
};

/// Number of rows; throws Error (invalid) on an empty axis, a value below 1, a value twice, or more than ten million
/// rows.
std::size_t row_count(const SweepSpace& space);

/// Rows are numbered with the length running fastest, then batch, rank, target.
Coordinates coordinates_of(const SweepSpace& space, std::size_t row);

/// The plan of a row: `base` with the row's values.
TrainPlan plan_of(const SweepSpace& space, const TrainPlan& base, std::size_t row);

/// The space of the paper: rank 1 to 128 and length 16 to 512 in powers of two, batch 1, 2, 4, 8, targets from
/// {embedding, attention, mlp}, at least one (S. Salisbury, "Predicting Peak VRAM Usage in Local Fine-tuning of
/// Large Language Models", 2024, and its repository's sweep).
SweepSpace paper_space();

/// The three groups of targets by name: "embedding", "attention", "mlp"; their union for "a+b". Empty for other text.
std::vector<std::string> target_group(const std::string& name);

}  // namespace vramfit
