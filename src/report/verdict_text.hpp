// Sentences about verdicts that several documents share.
#pragma once

#include <string>

#include "vramfit/predict/prediction.hpp"

namespace vramfit::report {

/// "between 22.30 GiB and 23.41 GiB are usable", or "23.41 GiB usable" where nothing is assumed.
std::string usable_text(const Prediction& prediction);

/// What a tight verdict depends on, and what to measure: "That depends on ... To know: ...".
std::string what_decides(const Prediction& prediction);

}  // namespace vramfit::report
