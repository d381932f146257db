// One question of a sweep: a network on a card, and the space of what varies.
#pragma once

#include "vramfit/spec/device.hpp"
#include "vramfit/spec/model_spec.hpp"
#include "vramfit/spec/stack.hpp"
#include "vramfit/spec/train_plan.hpp"
#include "vramfit/sweep/space.hpp"

namespace vramfit {

/// One model on one card, with all that does not vary from row to row.
struct SweepQuestion {
    ModelSpec model;
    TrainPlan base;
    Stack stack;
    Device device;  ///< capacity_known must hold; of several processes and of Unsloth as of_process makes it
    SweepSpace space;

    /// Requested bytes by the card's usable bytes.
    double utilization(std::int64_t requested) const {
        return static_cast<double>(requested) / static_cast<double>(device.usable.count);
    }
};

/// A row by its question and its place in the question's space.
struct RowPlace {
    std::size_t question = 0;
    std::size_t place = 0;
};

}  // namespace vramfit
