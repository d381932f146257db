// trl 1.16 generation/vllm_generation.py VLLMGeneration._init_vllm, sync_weights.
#include "vramfit/spec/vllm_arguments.hpp"

#include <fmt/format.h>

namespace vramfit {

std::optional<VllmProblem> problem_of(const VllmArguments& arguments) {
    if (arguments.on_server()) return std::nullopt;
    if (arguments.mode != "colocate")
        return VllmProblem{
            ErrorKind::invalid, "vllm_mode",
            fmt::format("trl stops: vllm_mode must be either 'server' or 'colocate', got '{}'", arguments.mode),
            "colocate"};
    if (!(arguments.share > 0 && arguments.share <= 1))
        return VllmProblem{ErrorKind::invalid, "vllm_gpu_memory_utilization",
                           fmt::format("{} is no share of the GPU", arguments.share), "above 0 and at most 1"};
    if (arguments.sleeps)
        return VllmProblem{ErrorKind::unsupported, "vllm_enable_sleep_mode",
                           "vLLM's sleep mode, which gives its share back between generation and step, is not "
                           "supported",
                           "false: vLLM then holds its share all the time, which needs more"};
    if (arguments.tensor_parallel > 1)
        return VllmProblem{ErrorKind::unsupported, "vllm_tensor_parallel_size", "vLLM on several GPUs is not supported",
                           "1"};
    return std::nullopt;
}

void put(const VllmArguments& arguments, GrpoPlan& plan) {
    plan.vllm_on_server = arguments.on_server();
    plan.vllm_share = plan.vllm_on_server ? std::nullopt : std::optional(arguments.share);
    plan.vllm_context = plan.vllm_on_server ? std::nullopt : arguments.context;
}

}  // namespace vramfit
