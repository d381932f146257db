// The table of cards, and the lookup of one by name or size.
#include "vramfit/spec/devices.hpp"

#include <algorithm>
#include <cmath>
#include <span>

#include <fmt/format.h>

#include "spec/device_parts.hpp"
#include "spec/embedded.hpp"
#include "spec/json_parse.hpp"
#include "spec/reader.hpp"
#include "vramfit/base/error.hpp"
#include "vramfit/spec/sizes.hpp"
#include "vramfit/spec/suggest.hpp"

namespace vramfit {

namespace {

// Without a measurement (no public figure for most cards): the lower figure for consumer cards, about 300 MiB in
// maintainers' comments (pytorch issues 107667, 109888); this one is used for a card of unknown kind.
constexpr Bytes kDefaultContext{300 * kMiB};

// Letters and digits only, in lower case: how names are compared.
std::string plain(std::string_view name) {
    std::string letters;
    for (const char c : lower_case(name)) {
        if ((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9')) letters += c;
    }
    return letters;
}

Capability capability_from(const std::string& text) {
    const std::size_t point = text.find('.');
    return {std::stoi(text.substr(0, point)), std::stoi(text.substr(point + 1))};
}

KnownDevice read_known(ObjectReader row) {
    KnownDevice known;
    known.name = row.text("name").value_or("");
    known.aliases = row.texts("aliases").value_or(std::vector<std::string>{});
    known.capability = capability_from(row.text("compute_capability").value_or("0.0"));
    known.multiprocessors = static_cast<int>(row.integer("multiprocessors", {.low = 1, .high = 10'000}).value_or(0));
    known.multiprocessors_source = row.text("multiprocessors_source").value_or("");
    known.total = Bytes{row.integer("total_bytes", {.low = 1}).value_or(0)};
    known.total_is_cuda = row.text("total_kind") == "cuda";
    known.total_source = row.text("total_source").value_or("");
    const auto bytes = [&row](const char* key) -> std::optional<Bytes> {
        const auto count = row.integer(key, {.low = 1});
        return count ? std::optional(Bytes{*count}) : std::nullopt;
    };
    known.cuda_low = bytes("cuda_low_bytes");
    known.cuda_high = bytes("cuda_high_bytes");
    known.cuda_ends_source = row.text("cuda_ends_source").value_or("");
    known.context = Bytes{row.integer("context_bytes", {.low = 1}).value_or(0)};
    row.skip("context_measured");
    known.context_source = row.text("context_source").value_or("");
    row.refuse_unknown();
    return known;
}

std::vector<KnownDevice> read_table() {
    Problems problems("gpus.json");
    const JsonValue table = parse_json(embedded_gpus(), problems);
    problems.throw_if_any();
    std::vector<KnownDevice> devices;
    const JsonValue* rows = table.find("gpus");
    for (std::size_t i = 0; rows && i < rows->items.size(); ++i) {
        devices.push_back(read_known(ObjectReader(rows->items[i], fmt::format("/gpus/{}", i), problems)));
    }
    problems.throw_if_any();
    return devices;
}

void note_context(Device& device) {
    device.notes.push_back({NoteKind::assumed_context,
                            fmt::format("the CUDA context of {} is not measured: {} MiB assumed", device.name,
                                        device.context.count / kMiB),
                            "measure it with nvidia-smi while an empty CUDA process runs, and give it with --context"});
}

}  // namespace

const std::vector<KnownDevice>& known_devices() {
    static const std::vector<KnownDevice> devices = read_table();
    return devices;
}

Device unlimited_device() {
    Device device;
    device.name = "no card";
    device.capability = {8, 0};
    device.multiprocessors = 108;
    device.notes.push_back({NoteKind::assumed_card,
                            "no GPU given: operators choose as on an A100 (capability 8.0, 108 multiprocessors), and "
                            "nothing is too large",
                            "give --gpu"});
    return device;
}

namespace {

/// A name or an alias of a known card, as names are compared.
struct PlainName {
    std::string plain;
    const KnownDevice* device = nullptr;
    bool alias = false;
};

const std::vector<PlainName>& plain_names() {
    static const std::vector<PlainName> names = [] {
        std::vector<PlainName> out;
        for (const KnownDevice& known : known_devices()) {
            out.push_back({plain(known.name), &known, false});
            for (const std::string& alias : known.aliases) out.push_back({plain(alias), &known, true});
        }
        return out;
    }();
    return names;
}

}  // namespace

const KnownDevice* find_device(std::string_view name) {
    const std::string wanted = plain(name);
    if (wanted.empty()) return nullptr;
    for (const PlainName& known : plain_names())
        if (known.plain == wanted) return known.device;
    return nullptr;
}

Device device_of(const KnownDevice& known) {
    Device device;
    device.name = known.name;
    device.capability = known.capability;
    device.multiprocessors = known.multiprocessors;
    device.capacity_known = true;
    device.total = known.total;
    device.context = known.context;
    device.usable = known.total - known.context;
    if (known.context_source.empty()) note_context(device);
    if (!known.total_is_cuda) {
        device.notes.push_back(
            {NoteKind::marketed_size,
             fmt::format("the total of {} is the driver's ({}); CUDA reports 0.2 to 0.7 GiB less on Linux", known.name,
                         text_of(known.total)),
             "give the total that torch.cuda.mem_get_info() shows with --gpu-total"});
    }
    assume_ends(device, known);
    return device;
}

Device unknown_device(Bytes total) {
    Device device;
    device.name = text_of(total);
    device.capability = {8, 6};
    device.multiprocessors = 82;
    device.capacity_known = true;
    device.total = total;
    device.context = kDefaultContext;
    device.usable = total - device.context;
    device.notes.push_back(
        {NoteKind::assumed_card,
         "a size, not a GPU: operators choose as on an RTX 3090 (capability 8.6, 82 multiprocessors)",
         "give the GPU's name (vramfit gpus lists them)"});
    device.notes.push_back(
        {NoteKind::marketed_size,
         fmt::format("{}{} are taken as what CUDA reports; a GPU sold with that size may report less", text_of(total),
                     total.count % kMiB == 0 ? "" : fmt::format(" ({} bytes)", total.count)),
         "give the GPU's name, or the total that torch.cuda.mem_get_info() shows with --gpu-total"});
    note_context(device);
    assume_ends_of_size(device);
    return device;
}

/// "NVIDIA GeForce RTX 4090" and the like with the letters of the name and other numbers.
std::string others_of_the_series(std::string_view name) {
    const auto letters = [](std::string plain) {
        std::erase_if(plain, [](char c) { return c >= '0' && c <= '9'; });
        return plain;
    };
    const auto series = [](std::string_view plain) {  // "rtx4050" -> "rtx40"
        const std::size_t digits = plain.find_first_of("0123456789");
        return plain.substr(0, digits == plain.npos ? digits : digits + 2);
    };
    const std::string wanted = plain(name), wanted_letters = letters(wanted);
    if (wanted_letters.empty()) return {};
    std::vector<std::string> found;
    for (const PlainName& known : plain_names()) {
        if (!known.alias || series(known.plain) != series(wanted) || letters(known.plain) != wanted_letters) continue;
        if (found.empty() || found.back() != known.device->name) found.push_back(known.device->name);
    }
    constexpr std::size_t kMost = 12;
    if (found.empty() || found.size() > kMost) return {};
    return fmt::format("known: {}; or give its size: 24GiB", fmt::join(found, ", "));
}

void refuse_device(std::string_view name, std::string_view where) {
    static constexpr std::string_view others[] = {"mi300x",  "mi325x",    "mi250",           "mi250x",
                                                  "7900xtx", "rx7900xtx", "radeonrx7900xtx", "amdinstinctmi300x"};
    if (std::find(std::begin(others), std::end(others), plain(name)) != std::end(others)) {
        throw Error(ErrorKind::unsupported, std::string(where),
                    fmt::format("'{}' is not a CUDA GPU; other makers' GPUs are not supported", name),
                    "vramfit gpus lists the GPUs that are known");
    }
    std::vector<std::string_view> names;
    for (const KnownDevice& known : known_devices()) {
        names.push_back(known.name);
        names.insert(names.end(), known.aliases.begin(), known.aliases.end());
    }
    constexpr const char* kOtherwise = "vramfit gpus lists the known ones; or give a size: 24GiB";
    const std::string series = others_of_the_series(name);
    throw Error(ErrorKind::invalid, std::string(where), fmt::format("unknown GPU '{}'", name),
                did_you_mean(name, names, series.empty() ? kOtherwise : series));
}

Device device_from(std::string_view text, std::string_view where) {
    if (const KnownDevice* known = find_device(text)) return device_of(*known);
    if (auto custom = custom_device(text, where)) return *custom;
    if (!looks_like_size(text)) refuse_device(text, where);
    const Bytes total = size_from(text, where);
    if (total <= kDefaultContext)
        throw Error(ErrorKind::invalid, std::string(where),
                    fmt::format("'{}' is less than a CUDA context takes ({} MiB)", text, kDefaultContext.count / kMiB),
                    "give a larger GPU");
    return unknown_device(total);
}

namespace {

/// NVIDIA/nccl issue 964: four A100 with NVLink, what one communicator takes: 544 MiB for two ranks, 688 for more.
std::int64_t buffers_of(std::int64_t ranks) { return (ranks == 2 ? 544 : 688) * kMiB; }

/// What communicators have between the ranks of a run, and between it and vLLM on a server (vllm 0.31
/// distributed/device_communicators/pynccl.py PyNcclCommunicator), of which one worker is assumed.
Bytes buffers_of(const TrainPlan& plan) {
    Bytes out;
    if (plan.preference.grpo.vllm_on_server && generates_rows(plan.loop.kind)) out += Bytes{buffers_of(2)};
    const std::optional<DistributedPlan>& distributed = plan.distributed;
    if (!distributed || distributed->world_size == 1) return out;
    // accelerate 1.15: those that share a sequence have a communicator of their own, unless they are all.
    const std::int64_t context = distributed->context_size();
    const bool own = context > 1 && context < distributed->world_size;
    // So have those that share a network of which others have a copy, and those that have the same part of it.
    const std::int64_t shard = distributed->shard_size();
    const std::int64_t copies = distributed->world_size / shard;
    const std::int64_t groups =
        (copies > 1 ? buffers_of(copies) : 0) + (copies > 1 && shard > 1 ? buffers_of(shard) : 0);
    return out + Bytes{buffers_of(distributed->world_size) + (own ? buffers_of(context) : 0) + groups};
}

Device with_communicator(Device device, const TrainPlan& plan) {
    const Bytes buffers = device.communicator.count > 0 ? Bytes{} : buffers_of(plan);
    if (buffers.count == 0) return device;
    device.communicator = buffers;
    device.context += buffers;
    device.notes.push_back({NoteKind::assumed_communicator,
                            fmt::format("NCCL's buffers are taken for {} MiB, as on four A100 with NVLink; over PCIe "
                                        "they are smaller",
                                        buffers.count / kMiB),
                            "measure it with nvidia-smi, and keep the difference free with --reserve"});
    device.assumptions.push_back({AssumptionKind::communicator, Bytes{}, buffers, buffers, "NCCL's buffers",
                                  "NVIDIA/nccl issue 964: four A100 with NVLink; next to nothing over PCIe",
                                  "nvidia-smi beside torch.cuda.memory_reserved() in a first run"});
    if (!device.capacity_known) return device;
    if (device.usable <= buffers)
        throw Error(ErrorKind::invalid, "--gpus", "nothing is left of the GPU beside NCCL's buffers",
                    "give a larger GPU");
    device.usable -= buffers;
    return device;
}

// vllm 0.6 to 0.8, worker/model_runner.py capture_model: "CUDA graphs can take additional 1~3 GiB memory per GPU". From
// 0.21 on an estimate, in 0.25.1 of 0, is taken out of the share (v1/worker/gpu_worker.py determine_available_memory).
constexpr Bytes kMostBeyondShare{3 * kMiB * 1024};

/// trl 1.16 vllm_generation.py LLM(gpu_memory_utilization): vllm v1/worker/utils.py request_memory, that share of all.
Device beside_vllm(Device device, const TrainPlan& plan) {
    const std::optional<double>& share = plan.preference.grpo.vllm_share;
    if (!share || !generates_rows(plan.loop.kind) || device.engine.count > 0) return device;
    constexpr const char* kSmaller = "a smaller vllm_gpu_memory_utilization leaves more to the trainer";
    if (!device.capacity_known) {
        device.notes.push_back(
            {NoteKind::vllm_share,
             fmt::format("vLLM in the same process takes {} of the GPU beside what the trainer needs", *share),
             kSmaller});
        return device;
    }
    device.engine = Bytes{static_cast<std::int64_t>(std::ceil(static_cast<double>(device.total.count) * *share))};
    device.notes.push_back({NoteKind::vllm_share,
                            fmt::format("vLLM in the same process takes {} for itself ({} of the GPU), which is kept "
                                        "free: weights, keys and values, and what it measures for its own step",
                                        text_of(device.engine), *share),
                            kSmaller});
    device.assumptions.push_back({AssumptionKind::engine, device.engine, device.engine,
                                  device.engine + kMostBeyondShare, "vLLM in the trainer's process",
                                  "its share and what CUDA graphs take beyond it by vLLM's own words (up to 3 GiB), "
                                  "less its activations, which are gone while the trainer's step runs",
                                  "what vLLM logs of graphs as it starts (\"CUDA graph pool memory: ... (actual)\")"});
    const Bytes engine = device.engine;
    return with_reserve(std::move(device), engine, "vllm_gpu_memory_utilization");
}

}  // namespace

// unsloth_zoo 2026.10.7, __init__.py.
Device of_process(Device device, const TrainPlan& plan) {
    if (plan.loop.kind == LoopKind::unsloth && device.alloc_conf.empty())
        device.alloc_conf = "expandable_segments:True";
    return beside_vllm(with_communicator(std::move(device), plan), plan);
}

Device with_reserve(Device device, Bytes reserve, std::string_view where) {
    if (reserve.count < 0)
        throw Error(ErrorKind::invalid, std::string(where), "an amount below zero", "give 0GiB or more");
    device.reserve += reserve;
    if (!device.capacity_known) return device;
    if (device.usable <= reserve) {
        throw Error(ErrorKind::invalid, std::string(where),
                    fmt::format("nothing is left of the GPU: {} of {} are usable without the reserve",
                                text_of(device.usable), text_of(device.total)),
                    "keep less free");
    }
    device.usable -= reserve;
    return device;
}

}  // namespace vramfit
