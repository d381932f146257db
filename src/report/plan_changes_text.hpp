// Under the verdict: flags with which a run fits, or how large it may become.
#pragma once

#include <string>

#include "vramfit/predict/prediction.hpp"
#include "vramfit/report/format.hpp"

namespace vramfit::report {

/// Empty if neither was looked for.
std::string plan_changes_text(const Prediction& p, const Layout& layout);

}  // namespace vramfit::report
