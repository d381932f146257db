// How many parameters a run has, as formulas of rank.
#pragma once

#include "symbolic/size.hpp"

namespace vramfit {

struct ParameterCounts {
    Size trainable = 0;
    Size total = 0;
};

}  // namespace vramfit
