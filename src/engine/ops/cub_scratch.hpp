// How many bytes of scratch cub's device algorithms take.
#pragma once

#include <cstdint>

#include "engine/session.hpp"

namespace vramfit::engine {

/// DeviceRadixSort::SortPairs of 64-bit keys and values, by the lowest `bits` of the key.
Size sort_scratch(const Session& session, Size n, Size bits = 64);
/// The same with more than a tile of 32-bit keys and 64-bit values, as cub 3 has it.
Size float_sort_scratch(const Session& session, Size n);
/// The same with 16-bit keys and 64-bit values.
Size half_sort_scratch(const Session& session, Size n);
/// The same with 32-bit keys and values.
Size int32_sort_scratch(const Session& session, Size n);
/// DeviceRadixSort::SortKeys of more than a tile of 64-bit keys, by the lowest `bits`, as cub 3 has it.
Size key_sort_scratch(const Session& session, Size n, Size bits);
/// DeviceSegmentedRadixSort::SortPairs of 32-bit keys and 64-bit values.
Size segmented_sort_scratch(Size n);
/// DeviceScan::InclusiveSumByKey of 32-bit keys and numbers, as cub 3 has it.
Size sum_by_key_scratch(const Session& session, Size n);
/// DeviceScan::InclusiveSum of 32-bit numbers.
Size scan_int32_scratch(const Session& session, Size n);
/// DeviceScan::ExclusiveSum into 64-bit sums.
Size scan_scratch(const Session& session, Size n);
/// DeviceSelect::UniqueByKey of 64-bit keys and 32-bit values.
Size unique_scratch(const Session& session, Size n);
/// The same of 32-bit keys, as cub 3 has it.
Size int32_unique_scratch(const Session& session, Size n);
/// DeviceSelect::Flagged of 64-bit values.
Size select_scratch(const Session& session, Size n);
/// DeviceReduce::Sum of flags into a 32-bit number.
Size count_scratch(const Session& session, Size n);

/// Takes the bytes for the time of one algorithm.
void use_scratch(Session& session, Size bytes, Op op);

}  // namespace vramfit::engine
