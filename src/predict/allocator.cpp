// Which allocator a run meets: the card's usable memory, the settings in its environment, torch's version.
#include "vramfit/predict/allocator.hpp"

#include "vramfit/spec/devices.hpp"

namespace vramfit {

ReplayOptions allocator_of(const Stack& stack, const Device& device) {
    const SettingsDialect dialect{
        .max_non_split_rounding = stack.allocator_knows_non_split_rounding(),
        .memory_fraction = stack.allocator_knows_memory_fraction(),
        .large_segment_size = stack.allocator_knows_large_segment_size(),
        .throw_on_device_oom = stack.allocator_knows_throw_on_device_oom(),
    };
    ReplayOptions options;
    if (!device.alloc_conf.empty()) options.settings = settings_from(device.alloc_conf, {}, dialect);
    if (device.capacity_known) {
        options.capacity = device.usable;
        options.device_total = device.total;
    }
    if (stack.allocator_orders_blocks_by_creation()) options.ties = TieRule::block_creation;
    if (stack.allocator_orders_segments_by_creation()) options.ties = TieRule::segment_creation;
    return options;
}

ReplayOptions allocator_of(const Job& job) { return allocator_of(job.stack, of_process(job.device, job.plan)); }

ReplayOptions without_limit(ReplayOptions options) {
    options.capacity.reset();
    options.device_total.reset();
    options.memory_fraction.reset();
    options.settings.memory_fraction = 1.0;
    return options;
}

}  // namespace vramfit
