// All about one configuration as text: what was asked, the named peaks, the highest one's shares, levels, notes.
#pragma once

#include <string>

#include "vramfit/predict/prediction.hpp"
#include "vramfit/report/format.hpp"

namespace vramfit::report {

/// What --details adds to the answer.
std::string prediction_details(const Prediction& prediction, const Layout& layout);

}  // namespace vramfit::report
