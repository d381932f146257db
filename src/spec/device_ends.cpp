// What is not known about a card: the ends of its total and of its CUDA context, and how a user says what they are.
#include <algorithm>
#include <iterator>

#include <fmt/format.h>

#include "spec/device_parts.hpp"
#include "vramfit/base/error.hpp"
#include "vramfit/spec/sizes.hpp"

namespace vramfit {

namespace {

/// What published cards show, by the driver's total: the most by which CUDA's total is less on Linux, and the largest
/// context. docs/constants.md has each of them with its source.
struct PublishedCards {
    std::int64_t up_to;  ///< MiB
    std::int64_t less;
    std::int64_t context;
};

constexpr PublishedCards kPublished[] = {
    {12 * 1024, 252, 300}, {16 * 1024, 450, 350}, {24 * 1024, 510, 525}, {48 * 1024, 631, 620}, {1 << 30, 767, 770},
};

const PublishedCards& published_like(Bytes total) {
    const std::int64_t mib = total.count / kMiB;
    return *std::find_if(std::begin(kPublished), std::end(kPublished) - 1,
                         [mib](const PublishedCards& cards) { return mib <= cards.up_to; });
}

// Process in use less allocated, less reserved but unallocated, in published out-of-memory messages: 3.0 MiB for each
// multiprocessor (RTX 6000 Ada) to 4.8 (A100). On an H200 5.8 were measured with all kernels of a training step loaded.
constexpr std::int64_t kLeastContext = 3 * kMiB;
constexpr std::int64_t kMostContext = 5 * kMiB;
constexpr std::int64_t kMostContextOfHopper = 6 * kMiB;

void set_total(Device& device, Bytes least, Bytes most, std::string what, std::string source) {
    least = std::min(least, device.total);
    most = std::max(most, device.total);
    if (least == most) return;
    device.assumptions.push_back({AssumptionKind::total, device.total - most, Bytes{}, device.total - least,
                                  std::move(what), std::move(source),
                                  "torch.cuda.mem_get_info()[1] on the GPU; then give --gpu-total"});
}

void set_context(Device& device, Bytes least, Bytes most, std::string source) {
    device.assumptions.push_back(
        {AssumptionKind::context, std::min(least, device.context), device.context, std::max(most, device.context),
         fmt::format("the CUDA context of {}", device.name), std::move(source),
         "nvidia-smi while the run is there, less what torch.cuda.memory_reserved() shows; then give --context"});
}

void drop(Device& device, AssumptionKind kind, NoteKind note) {
    std::erase_if(device.assumptions, [kind](const Assumption& one) { return one.kind == kind; });
    std::erase_if(device.notes, [note](const Note& one) { return one.kind == note; });
}

}  // namespace

void assume_ends(Device& device, const KnownDevice& known) {
    const std::string what = fmt::format("the total of {} as CUDA reports it", known.name);
    if (known.cuda_low && known.cuda_high)
        set_total(device, *known.cuda_low, *known.cuda_high, what, known.cuda_ends_source);
    else if (!known.total_is_cuda)
        set_total(device, known.total - Bytes{published_like(known.total).less * kMiB}, known.total, what,
                  "published GPUs of that size and less (docs/constants.md)");
    const bool hopper = known.capability == Capability{9, 0};
    if (known.context_source.empty())
        set_context(device, Bytes{kLeastContext * known.multiprocessors},
                    Bytes{(hopper ? kMostContextOfHopper : kMostContext) * known.multiprocessors},
                    hopper
                        ? "an H200: 6 MiB for each multiprocessor (docs/measured.md)"
                        : "published out-of-memory messages: 3 to 5 MiB for each multiprocessor (docs/constants.md)");
}

void assume_ends_of_size(Device& device) {
    const PublishedCards& like = published_like(device.total);
    set_total(device, device.total - Bytes{like.less * kMiB}, device.total,
              fmt::format("how much of {} CUDA reports", text_of(device.total)),
              "published GPUs of that size and less (docs/constants.md)");
    set_context(device, Bytes{115 * kMiB}, Bytes{like.context * kMiB},
                "published out-of-memory messages of GPUs of that size and less (docs/constants.md)");
}

Device with_total(Device device, Bytes total, std::string_view where) {
    const Bytes taken = device.total - device.usable;
    if (total <= taken)
        throw Error(ErrorKind::invalid, std::string(where),
                    fmt::format("{} are no more than context and reserve take", text_of(total)), "give a larger total");
    if (!device.capacity_known) {
        Device sized = unknown_device(total);
        sized.alloc_conf = device.alloc_conf;
        sized.cublas_workspace_config = device.cublas_workspace_config;
        sized.cublaslt_workspace_size = device.cublaslt_workspace_size;
        device = with_reserve(std::move(sized), device.reserve);
    } else {
        device.usable = total - taken;
        device.total = total;
    }
    drop(device, AssumptionKind::total, NoteKind::marketed_size);
    return device;
}

Device with_context(Device device, Bytes context, std::string_view where) {
    if (!device.capacity_known)
        throw Error(ErrorKind::invalid, std::string(where), "no GPU is given", "give --gpu or --gpu-total as well");
    const Bytes buffers = device.communicator;
    const Bytes usable = device.usable + device.context - context - buffers;
    if (context.count < 0 || usable.count <= 0)
        throw Error(ErrorKind::invalid, std::string(where),
                    fmt::format("a context of {} leaves nothing of {}", text_of(context), text_of(device.total)),
                    "give what nvidia-smi shows less what PyTorch reserves");
    device.usable = usable;
    device.context = context + buffers;
    drop(device, AssumptionKind::context, NoteKind::assumed_context);
    return device;
}

}  // namespace vramfit
