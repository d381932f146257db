// What each named peak requests, as a polynomial of batch, length and rank, and where that holds.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "vramfit/peaks/peak.hpp"
#include "vramfit/spec/job.hpp"

namespace vramfit {

struct PeakFormula {
    const Peak* peak = nullptr;
    std::string window;          ///< "step1.backward.loss"
    std::int64_t requested = 0;  ///< in the run that was asked about
    std::string formula;         ///< "3136996250 + 2056 S + ...": bytes
};

struct PeakFormulas {
    std::vector<PeakFormula> peaks;       ///< in the order of a run
    std::vector<std::string> axes;        ///< "B = rows of a batch, here 4": what the letters mean
    std::vector<std::string> functions;   ///< sizes that are no polynomials: "f1(B S) = 4096 here"
    std::vector<std::string> conditions;  ///< of the path of the run: where all of them hold, the formulas do
};

/// Formulas of the moment at which each peak is highest in this run. Other rows of the path have the same events with
/// these sizes; where another moment of the peak becomes higher, the formula is a bound from below. Throws what predict
/// throws.
PeakFormulas peak_formulas(const Job& job);

}  // namespace vramfit
