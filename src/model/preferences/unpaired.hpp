// The rows of KTO: completions with a label each, and for the KL term each prompt with the completion of another row.
#pragma once

#include "model/network/run.hpp"

namespace vramfit::model {

/// How many rows of a batch are desirable, and the tokens of their completions.
struct DesirableRows {
    Size rows = 0;
    Size tokens = 0;
};
DesirableRows desirable_rows(const Run& run);

/// A micro batch on the device. With `references` it brings the rows' log-probabilities.
Batch fetch_unpaired(const Run& run, bool references);

/// The plan of the KL term's rows, and how much longer than the others the longest of them is: each prompt has the
/// completion of the row before it.
TrainPlan plan_of_kl_rows(const TrainPlan& plan);
RunSizes sizes_of_kl_rows(const Run& run);
std::int64_t kl_rows_longer(const TrainPlan& plan);

}  // namespace vramfit::model
