// Axes that go on upwards as long as anything fits.
#pragma once

#include "vramfit/sweep/question.hpp"

namespace vramfit {

struct WidenedAxes {
    bool length = false;
    bool batch = false;
};

/// The question's space with more lengths (doubled, up to the positions of the model) and batches (doubled) behind the
/// largest there are: as many as the smallest run of each still requests no more than the card surely has. One of 16
/// tokens is no training, so batches are looked at with rows of 128 tokens, or the shortest of the axis if that is
/// longer. Throws what recording throws.
SweepSpace widened(const SweepQuestion& question, WidenedAxes axes);

}  // namespace vramfit
