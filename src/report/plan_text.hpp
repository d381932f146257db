// A plan in a few words, every choice that memory depends on named.
#pragma once

#include <string>
#include <vector>

#include "vramfit/base/note.hpp"
#include "vramfit/spec/device.hpp"
#include "vramfit/spec/stack.hpp"
#include "vramfit/spec/train_plan.hpp"

namespace vramfit::report {

/// A line of a description: "batch", "1 x 1024 tokens".
struct Line {
    std::string key;
    std::string value;
};

/// Whether rank, targets, batch and length are those of the plan, or stand in a list below.
enum class Axes : unsigned char { of_plan, listed };

/// Method, precision, checkpointing, batch, optimizer, loop: defaults included.
std::vector<Line> describe(const TrainPlan& plan, const Stack& stack, Axes axes = Axes::of_plan);

/// "NVIDIA GeForce RTX 4090, 23.64 GiB: 23.22 GiB usable, 0.42 GiB CUDA context".
std::string describe(const Device& device);

/// "note: ..." and "hint: ...", broken for the width; empty without notes.
std::string describe(const Notes& notes, int width);

/// "torch 2.11.0, transformers 5.17.0, ...".
std::string versions_of(const Stack& stack);

}  // namespace vramfit::report
