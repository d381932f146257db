// Sentences about verdicts that several documents share.
#pragma once

#include <string>

#include "vramfit/predict/prediction.hpp"

namespace vramfit::report {

/// "between 22.30 GiB and 23.41 GiB are usable", or "23.41 GiB usable" where nothing is assumed.
std::string usable_text(const Prediction& prediction);

/// What a tight verdict depends on, and what to measure: "That depends on ... To know: ...".
std::string what_decides(const Prediction& prediction);

/// Notes that stand under nearly every answer: what is assumed about a GPU.
bool is_usual(const Note& note);

/// "Assumed, not measured: the CUDA context (0.11 GiB to 0.47 GiB)."; empty where nothing is.
std::string assumed_text(const Device& device, const Assumptions& assumptions);

}  // namespace vramfit::report
