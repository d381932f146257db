// How many bytes of scratch cub's device algorithms take.
#pragma once

#include <cstdint>

#include "engine/session.hpp"

namespace vramfit::engine {

/// DeviceRadixSort::SortPairs of 64-bit keys and values, by the lowest `bits` of the key.
std::int64_t sort_scratch(const Session& session, std::int64_t n, int bits = 64);
/// DeviceScan::InclusiveSum of 32-bit numbers.
std::int64_t scan_int32_scratch(const Session& session, std::int64_t n);
/// DeviceScan::ExclusiveSum into 64-bit sums.
std::int64_t scan_scratch(const Session& session, std::int64_t n);
/// DeviceSelect::UniqueByKey of 64-bit keys and 32-bit values.
std::int64_t unique_scratch(const Session& session, std::int64_t n);
/// DeviceSelect::Flagged of 64-bit values.
std::int64_t select_scratch(const Session& session, std::int64_t n);
/// DeviceReduce::Sum of flags into a 32-bit number.
std::int64_t count_scratch(const Session& session, std::int64_t n);

}  // namespace vramfit::engine
