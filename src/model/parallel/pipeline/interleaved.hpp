// The order of work under Interleaved 1F1B, with what is sent and received between.
#pragma once

#include <cstdint>
#include <vector>

namespace vramfit::model {

struct PipelineAction {
    enum class Kind : std::uint8_t {
        forward,
        backward,
        send_forward,
        send_backward,
        receive_forward,
        receive_backward,
        nothing,
    } kind = Kind::nothing;
    std::int64_t stage = 0;
    std::int64_t micro = 0;

    friend bool operator==(const PipelineAction&, const PipelineAction&) = default;
    friend auto operator<=>(const PipelineAction&, const PipelineAction&) = default;
};

/// How `stages` of each of `processes` take turns over so many micro batches.
struct InterleavedShape {
    std::int64_t processes = 2;
    std::int64_t stages = 1;
    std::int64_t micro_batches = 2;
};

/// torch 2.11 distributed/pipelining/schedules.py ScheduleInterleaved1F1B: pipeline_order_with_comms of one process.
std::vector<PipelineAction> interleaved_order(const InterleavedShape& shape, std::int64_t process);

}  // namespace vramfit::model
