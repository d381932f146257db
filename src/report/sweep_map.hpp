// A sweep as a map: one panel for each combination of all axes but two, one cell for each row.
#pragma once

#include <string>
#include <vector>

#include "vramfit/report/format.hpp"

namespace vramfit::report {

struct MapPanel {
    std::string title;                   ///< "targets mlp, rank 8"; empty if there is but one
    std::vector<const SweepRow*> cells;  ///< row by row from the bottom; nullptr: the space has no such row
};

struct SweepMap {
    std::string x, y;                         ///< names of the axes
    std::vector<std::string> columns, lines;  ///< their values
    std::vector<MapPanel> panels;
};

/// Throws Error (invalid) for axes that the sweep does not have, and for more cells or panels than can be read.
SweepMap map_of(const SweepReport& report);

}  // namespace vramfit::report
