// JUnit's XML, which most CI systems show.
#include "report/documents.hpp"

namespace vramfit::formats {

extern const Format junit_entry;
const Format junit_entry = {
    .name = "junit",
    .summary = "JUnit's XML for CI systems",
    .order = 60,
    .check = report::check_junit,
};

}  // namespace vramfit::formats
