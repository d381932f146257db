// Flags of a plan: the card, library versions, the allocator's settings.
#include "cli/flags/tables.hpp"
#include "cli/flags/values.hpp"
#include "cli/input.hpp"
#include "vramfit/spec/config.hpp"
#include "vramfit/spec/devices.hpp"
#include "vramfit/spec/sizes.hpp"
#include "vramfit/spec/stacks.hpp"

namespace vramfit::cli {

namespace {

constexpr const char* kPlace = "Library versions and GPU";

bool looks_like_file(std::string_view value) {
    return value.find('/') != value.npos || value.ends_with(".txt") || value == "-";
}

void choose_stack(Job& job, std::string_view value, const std::string& where) {
    StackChoice choice = looks_like_file(value) ? stack_from_pip_freeze(read_input(std::string(value), where),
                                                                        name_of_input(std::string(value)))
                                                : stack_from(value, where);
    job.stack = std::move(choice.stack);
    job.model = under_release(job.model, job.stack);
    std::erase_if(job.notes, [](const Note& note) {
        return note.kind == NoteKind::version_out_of_range || note.kind == NoteKind::version_unknown;
    });
    job.notes.insert(job.notes.end(), choice.notes.begin(), choice.notes.end());
}

void choose_card(Job& job, std::string_view value, const std::string& where) {
    Device device = device_from(value, where);
    device.alloc_conf = job.device.alloc_conf;
    device.cublas_workspace_config = job.device.cublas_workspace_config;
    device.cublaslt_workspace_size = job.device.cublaslt_workspace_size;
    job.device = std::move(device);
}

constexpr PlanFlag kCardFlags[] = {
    {"gpu", "", "GPU", nullptr, kPlace,
     "A GPU's name (vramfit gpus), a size (24GiB), or NAME,MAJOR,MINOR,MULTIPROCESSORS,TOTAL,FREE in bytes [none: "
     "nothing is too large]",
     choose_card, 0},
    {"gpu-total", "", "SIZE", nullptr, kPlace,
     "The GPU's memory as torch.cuda.mem_get_info() shows it [what is known of --gpu, between two ends]",
     [](Job& job, std::string_view value, const std::string& where) {
         job.device = with_total(std::move(job.device), size_from(value, where), where);
     }},
    {"context", "cuda_context", "SIZE", nullptr, kPlace,
     "What the CUDA context takes of the GPU, as measured [what is known of --gpu, between two ends]",
     [](Job& job, std::string_view value, const std::string& where) {
         job.device = with_context(std::move(job.device), size_from(value, where), where);
     },
     2},
    {"reserve", "headroom", "SIZE", nullptr, kPlace, "GPU memory to keep free [0GiB]",
     [](Job& job, std::string_view value, const std::string& where) {
         job.device = with_reserve(std::move(job.device), size_from(value, where), where);
     }},
    {"alloc-conf", "pytorch_cuda_alloc_conf pytorch_alloc_conf", "CONF", nullptr, kPlace,
     "Settings of PyTorch's allocator, written as in PYTORCH_CUDA_ALLOC_CONF [none]",
     [](Job& job, std::string_view value, const std::string&) {
         job.device.alloc_conf = value == "none" ? std::string_view() : value;
     }},
    {"stack", "", "STACK", nullptr, kPlace,
     "Library versions: a name (vramfit stacks), NAME,torch=2.6.0,..., or the output of pip freeze in a file "
     "[hf-2026-11]",
     choose_stack, 0},
};

}  // namespace

std::span<const PlanFlag> card_flags() { return kCardFlags; }

}  // namespace vramfit::cli
