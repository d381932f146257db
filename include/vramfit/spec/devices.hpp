// The cards the program knows, and what a user may write instead of one.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "vramfit/spec/device.hpp"
#include "vramfit/spec/train_plan.hpp"

namespace vramfit {

/// A row of the table of cards (src/spec/gpus.json); every number has its source.
struct KnownDevice {
    std::string name;
    std::vector<std::string> aliases;
    Capability capability;
    int multiprocessors = 0;
    std::string multiprocessors_source;
    Bytes total;
    bool total_is_cuda = false;  ///< as CUDA reports it; false: the driver's total, a little more
    std::string total_source;
    std::optional<Bytes> cuda_low, cuda_high;  ///< the least and the most that CUDA is known to report
    std::string cuda_ends_source;
    Bytes context;
    std::string context_source;  ///< empty: not measured, the default for its kind
};

/// All known cards.
const std::vector<KnownDevice>& known_devices();

/// No card: nothing is too large, operators choose as on an A100.
Device unlimited_device();

/// A card by name or alias ("RTX 4090", "rtx4090"; case, spaces and hyphens do not count), a size ("8GiB": a card of
/// unknown kind of that capacity), or "NAME,MAJOR,MINOR,SMS,TOTAL,FREE" in bytes. Throws Error (invalid) otherwise.
Device device_from(std::string_view text, std::string_view where = "--gpu");

/// A card by the reference tracer's words: a name of its table ("a100", "t4", "rtx4090", ...) or
/// "NAME,MAJOR,MINOR,SMS,TOTAL,FREE"; what is usable is exactly FREE.
Device card_from(std::string_view text, std::string_view where);

/// The card as a process of the plan finds it. Of several processes: NCCL's buffers, which lie beside the allocator,
/// are taken off as if they were part of the context, once. With Unsloth: the allocator's settings that its import
/// makes where there are none.
Device of_process(Device device, const TrainPlan& plan);

/// The same card with that much kept free. Throws Error (invalid) if nothing is left.
Device with_reserve(Device device, Bytes reserve, std::string_view where = "--reserve");

/// The same card of which CUDA reports exactly that much; without a card one of unknown kind. Throws Error (invalid) if
/// nothing is left.
Device with_total(Device device, Bytes total, std::string_view where = "--gpu-total");

/// The same card on which the CUDA context takes exactly that much. Throws Error (invalid) if nothing is left.
Device with_context(Device device, Bytes context, std::string_view where = "--context");

/// "NAME,MAJOR,MINOR,SMS,TOTAL,FREE", from which card_from makes the same card, as assumed; empty without a capacity.
std::string card_text(const Device& device);

}  // namespace vramfit
