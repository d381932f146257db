// Colours of pictures, which stay apart for the colour-blind.
#pragma once

namespace vramfit::report {

/// By category: B. Wong, "Points of view: Color blindness", Nature Methods 8 (2011), and some that stay apart from
/// them. src/report/html/common.js has the same.
inline constexpr const char* kCategoryColours[] = {"#999999", "#0072B2", "#56B4E9", "#CC79A7", "#D55E00",
                                                   "#009E73", "#E69F00", "#F0E442", "#8C6D31", "#7B4FA3",
                                                   "#4C9F9F", "#B5B35C", "#C0504D", "#1B4F72", "#6E2C00"};

}  // namespace vramfit::report
