// A table of facts (models, cards, stacks) that every format can show.
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "vramfit/base/bytes.hpp"

namespace vramfit {

/// Nothing, a text, a number, an amount of memory, yes or no, several texts.
using Cell = std::variant<std::monostate, std::string, std::int64_t, Bytes, bool, std::vector<std::string>>;

struct ReportColumn {
    std::string key;    ///< in JSON
    std::string title;  ///< in text; empty: JSON only
    int drop = 0;       ///< text: columns with the highest number go first when the screen is narrow; 0 stays
};

struct ReportTable {
    std::string schema;  ///< "vramfit.gpus/1"
    std::string key;     ///< the list of rows in JSON: "gpus"
    std::vector<ReportColumn> columns;
    std::vector<std::vector<Cell>> rows;
};

}  // namespace vramfit
