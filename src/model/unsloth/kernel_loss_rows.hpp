// How many tokens and how much of the vocabulary Unsloth's loss kernels take at once.
#pragma once

#include <cstdint>

#include "model/network/run.hpp"
#include "vramfit/spec/device.hpp"

namespace vramfit::model {

/// The output projection's.
struct HeadSizes {
    std::int64_t hidden, vocabulary;
    bool is_trained = false;
};

HeadSizes head_of(const ModelSpec& spec, const TrainPlan& plan);

/// Of the logits in float32.
struct KernelLossLayout {
    std::int64_t rows = 0;     ///< at most, however few are scored
    std::int64_t columns = 0;  ///< of the buffer
    bool tiled = false;        ///< a piece of the vocabulary after the other
};

/// A reduction of more columns is made of several.
inline constexpr std::int64_t kColumnsOfSplit = 16384;

/// From so many tokens on a large card takes a piece of the vocabulary after the other.
inline constexpr std::int64_t kFewestInTiles = 4096;

/// With `scored` tokens, where the loss may take `loss_bytes`.
KernelLossLayout kernel_loss_layout(const HeadSizes& head, const Device& device, std::int64_t scored,
                                    std::int64_t loss_bytes);

/// The same of a run whose sizes may vary: decided, so that it is one number for each path.
KernelLossLayout kernel_loss_layout(const Run& run, Size scored);

/// What the buffers of so many tokens take together, in bytes.
std::int64_t kernel_loss_bytes(const HeadSizes& head, const Device& device, std::int64_t scored,
                               std::int64_t loss_bytes);

}  // namespace vramfit::model
