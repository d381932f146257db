// Job files: the card and the settings of the allocator, the keys `device`, `card` and `environment`.

#include <fmt/format.h>

#include "spec/device_parts.hpp"
#include "spec/job_read.hpp"
#include "vramfit/base/error.hpp"
#include "vramfit/spec/devices.hpp"
#include "vramfit/spec/suggest.hpp"

namespace vramfit {

namespace {

struct DeviceKeys {
    std::optional<std::string> name;
    std::optional<std::int64_t> total;
    std::optional<std::int64_t> free;
};

DeviceKeys read_keys(ObjectReader& device) {
    DeviceKeys keys;
    keys.name = device.text("name", Null::absent);
    keys.total = device.integer("total_bytes", {.low = 1}, Null::absent);
    const auto older = device.integer("vram_bytes", {.low = 1}, Null::absent);
    if (keys.total && older && *keys.total != *older)
        device.problems().invalid(device.path("vram_bytes"), "differs from total_bytes, which means the same",
                                  "leave one of them out");
    if (!keys.total) keys.total = older;
    keys.free = device.integer("free_bytes", {.low = 1}, Null::absent);
    device.refuse_unknown();
    return keys;
}

// The named card, or one of unknown kind, with the total and free bytes that are given.
Device device_with(const DeviceKeys& keys, const std::string& where) {
    Device device;
    if (keys.name) {
        const KnownDevice* known = find_device(*keys.name);
        if (!known && !keys.total && !keys.free) refuse_device(*keys.name, where);
        device = known ? device_of(*known) : unknown_device(Bytes{keys.total.value_or(keys.free.value_or(0))});
        if (!known) device.name = *keys.name;
    } else {
        device = unknown_device(Bytes{keys.total.value_or(keys.free.value_or(0))});
    }
    if (keys.total) device.total = Bytes{*keys.total};
    if (keys.free) device.context = device.total - Bytes{*keys.free};
    device.usable = device.total - device.context;
    const auto drop = [&](NoteKind note, AssumptionKind kind) {
        std::erase_if(device.notes, [&](const Note& one) { return one.kind == note; });
        std::erase_if(device.assumptions, [&](const Assumption& one) { return one.kind == kind; });
    };
    if (keys.total || keys.free) drop(NoteKind::marketed_size, AssumptionKind::total);
    if (keys.free) drop(NoteKind::assumed_context, AssumptionKind::context);
    if (device.usable.count <= 0 || device.context.count < 0) {
        throw Error(ErrorKind::invalid, where,
                    fmt::format("of {} bytes {} are free: more than the total, or nothing", device.total.count,
                                device.usable.count),
                    "free_memory is what CUDA reports with nothing but its context there");
    }
    return device;
}

// transformers 5.0 to 5.17 utils/import_utils.py is_env_variable_true.
bool is_true(std::string_view text) {
    const std::string value = lower_case(text);
    return value == "true" || value == "1" || value == "y" || value == "yes" || value == "on";
}

void read_environment(ObjectReader& environment, Device& device, LoadPlan& load) {
    const auto older = environment.text("PYTORCH_CUDA_ALLOC_CONF", Null::absent);
    const auto newer = environment.text("PYTORCH_ALLOC_CONF", Null::absent);
    if (older && newer && *older != *newer) {
        environment.problems().invalid(environment.path("PYTORCH_ALLOC_CONF"),
                                       "differs from PYTORCH_CUDA_ALLOC_CONF, which means the same",
                                       "leave one of them out");
    }
    device.alloc_conf = newer ? *newer : older.value_or("");
    device.cublas_workspace_config = environment.text("CUBLAS_WORKSPACE_CONFIG", Null::absent);
    device.cublaslt_workspace_size = environment.text("CUBLASLT_WORKSPACE_SIZE", Null::absent);
    if (auto loading = environment.text("HF_DEACTIVATE_ASYNC_LOAD", Null::absent))
        load.without_threads = is_true(std::move(*loading));
    environment.refuse_unknown();
}

}  // namespace

Device read_device(ObjectReader& job, LoadPlan& load) {
    Device device = unlimited_device();
    std::optional<Device> chosen;
    const auto card = job.text("card", Null::absent);
    auto object = job.object("device", Null::absent);
    try {
        DeviceKeys keys;
        if (object) keys = read_keys(*object);
        if (keys.name || keys.total || keys.free) chosen = device_with(keys, job.problems().place(job.path("device")));
    } catch (const Error& error) {
        job.problems().add(error);
    }
    try {
        if (card && !chosen) chosen = card_from(*card, job.problems().place(job.path("card")));
    } catch (const Error& error) {
        job.problems().add(error);
    }
    if (chosen) device = std::move(*chosen);
    if (auto environment = job.object("environment")) read_environment(*environment, device, load);
    return device;
}

}  // namespace vramfit
