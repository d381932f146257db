// Results written by hand, so that pictures change only when reports do.
#pragma once

#include "vramfit/report/format.hpp"

namespace vramfit::test {

/// QLoRA of a network of about 2.5 billion parameters on a card of 8 GiB: it fits.
Prediction example_prediction();

/// The same on a card on which a request fails.
Prediction example_too_large();
/// One that fits unless what is assumed turns out badly, on each of two GPUs.
Prediction example_tight();

/// Three windows of a run.
TimelineReport example_timeline();

}  // namespace vramfit::test
