// Writes rows as jobs.
#include "cli/sweep/job_files.hpp"

#include <algorithm>
#include <filesystem>

#include <fmt/format.h>

#include "cli/output.hpp"
#include "vramfit/base/error.hpp"
#include "vramfit/spec/job.hpp"

namespace vramfit::cli {

void write_jobs(const SweepReport& report, const std::string& folder) {
    std::error_code problem;
    std::filesystem::create_directories(folder, problem);
    if (problem)
        throw Error(ErrorKind::invalid, "--jobs", fmt::format("{}: {}", folder, problem.message()), "a folder");
    for (std::size_t i = 0; i < std::min(report.top, report.result.ranking.size()); ++i) {
        const SweepRow& row = report.result.rows[report.result.ranking[i]];
        const SweepQuestion& question = report.question_of(row);
        const Job job{question.model, report.plan(row), question.stack, question.device, {}};
        write_result(to_json_text(job), fmt::format("{}/row-{}.json", folder, row.number));
    }
}

}  // namespace vramfit::cli
