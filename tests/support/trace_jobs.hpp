// The jobs of the traces: every family, stack and feature that was compared with the libraries.
#pragma once

#include <string>
#include <vector>

#include "vramfit/spec/job.hpp"

namespace vramfit::test {

/// Their texts, one job each.
std::vector<std::string> trace_jobs();

/// Every `every`-th of those that are accepted and have at most `most_layers` layers, from number `first` on.
std::vector<Job> accepted_trace_jobs(std::int64_t most_layers, std::size_t first = 0, std::size_t every = 1);

}  // namespace vramfit::test
