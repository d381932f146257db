// GitHub's workflow commands: annotations at the key's file and line.
#include "report/documents.hpp"

namespace vramfit::formats {

extern const Format github_entry;
const Format github_entry = {
    .name = "github",
    .summary = "annotations for GitHub Actions",
    .order = 50,
    .check = report::check_github,
};

}  // namespace vramfit::formats
