// CSV: rankings for spreadsheets; sizes are exact integers of bytes.
#include "report/documents.hpp"

namespace vramfit::formats {

extern const Format csv_entry;
const Format csv_entry = {
    .name = "csv",
    .summary = "sweeps for spreadsheets",
    .order = 30,
    .sweep = report::sweep_csv,
};

}  // namespace vramfit::formats
