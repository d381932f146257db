// trl's arguments of vLLM, as GRPOConfig and RLOOConfig have them: which of them are predicted.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "vramfit/base/error.hpp"
#include "vramfit/spec/grpo_plan.hpp"

namespace vramfit {

/// What is asked for beside `use_vllm`; values are trl 1.16's own.
struct VllmArguments {
    std::string mode = "colocate";             ///< vllm_mode
    double share = 0.3;                        ///< vllm_gpu_memory_utilization
    bool sleeps = false;                       ///< vllm_enable_sleep_mode
    std::int64_t tensor_parallel = 1;          ///< vllm_tensor_parallel_size
    std::optional<std::int64_t> context = {};  ///< vllm_max_model_length

    bool on_server() const { return mode == "server"; }
};

/// Why arguments are refused, and which one it is.
struct VllmProblem {
    ErrorKind kind = ErrorKind::unsupported;
    std::string key;
    std::string what;
    std::string hint;
};

/// On a server trl does not look at the others.
std::optional<VllmProblem> problem_of(const VllmArguments& arguments);
/// What they say of who generates.
void put(const VllmArguments& arguments, GrpoPlan& plan);

}  // namespace vramfit
