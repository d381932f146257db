// The configurations that a sweep looks at: a plan and the values of the axes that vary.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "vramfit/spec/model_spec.hpp"
#include "vramfit/spec/train_plan.hpp"

namespace vramfit {

/// A choice of target modules. "No target at all" is not a configuration.
struct TargetSet {
    std::string name;                  ///< "attention+mlp", or the modules joined by "+"
    std::vector<std::string> modules;  ///< {"q_proj", ...}; empty: as the plan has them
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

/// Number of rows; throws Error (invalid) on an empty axis, a value below 1, a value or a set of targets twice, or more
/// than 10^9 rows.
std::size_t row_count(const SweepSpace& space);

/// Rows are numbered with the length running fastest, then batch, rank, target.
Coordinates coordinates_of(const SweepSpace& space, std::size_t row);
/// The row of these coordinates.
std::size_t row_at(const SweepSpace& space, const Coordinates& at);

/// The plan of a row: `base` with the row's values.
TrainPlan plan_of(const SweepSpace& space, const TrainPlan& base, std::size_t row);

/// The space of the paper: rank 1 to 128 and length 16 to 512 in powers of two, batch 1, 2, 4, 8, targets from
/// {embedding, attention, mlp}, at least one (S. Salisbury, "Predicting Peak VRAM Usage in Local Fine-tuning of
/// Large Language Models", 2024, and its repository's sweep). Sets of which the network has no module are left out.
SweepSpace paper_space(const ModelSpec& model);

/// The set of that name: groups ("embedding", "attention", "mlp") and names of modules, joined by "+". Throws Error
/// (invalid) for a name that matches no module of the network, with the nearest one, and for a name given twice.
TargetSet target_set(const ModelSpec& model, const std::string& name, const std::string& where = "--targets");

}  // namespace vramfit
