// DeepSpeed's ZeRO as transformers' Trainer starts it: what of its configuration file decides about memory.
#pragma once

#include <cstdint>
#include <optional>

namespace vramfit {

/// A size in elements; absent: "auto", which Trainer computes from the hidden size.
using ZeroSize = std::optional<std::int64_t>;

/// What the section `optimizer` asks for; how weights decay makes no difference to memory.
enum class ZeroOptimizer : std::uint8_t {
    adamw,        ///< DeepSpeed's own, for "Adam" as well
    torch_adamw,  ///< `torch_adam`
    lion,         ///< DeepSpeed's own
};

/// Keys of the configuration (deepspeed 0.19.8 runtime/config.py, runtime/zero/config.py), with DeepSpeed's defaults.
struct ZeroPlan {
    std::int64_t stage = 2;
    ZeroSize reduce_bucket_size = 500'000'000;
    std::optional<bool> overlap_comm;  ///< absent: with stage 3 only
    bool contiguous_gradients = true;
    bool reduce_scatter = true;
    bool offload_optimizer = false;  ///< to host memory
    bool offload_param = false;
    ZeroSize prefetch_bucket_size = 50'000'000;
    ZeroSize param_persistence_threshold = 100'000;
    std::int64_t max_live_parameters = 1'000'000'000;
    std::int64_t max_reuse_distance = 1'000'000'000;
    std::int64_t sub_group_size = 1'000'000'000;
    bool own_optimizer = false;                      ///< a section `optimizer`; false: Trainer's
    ZeroOptimizer optimizer = ZeroOptimizer::adamw;  ///< the section's
    bool force_ds_cpu_optimizer = true;              ///< accelerate puts DeepSpeed's in place of an offloaded one
    std::optional<double> gradient_clipping = 0;     ///< absent: "auto", Trainer's max_grad_norm
    bool clips_by_default = false;                   ///< gradient_clipping is left out, and stands as 1
    std::optional<bool> bf16;                        ///< absent: "auto"
    std::optional<bool> fp16 = false;                ///< absent: "auto"
    std::optional<std::int64_t> micro_batch_size;    ///< these three absent: "auto"
    std::optional<std::int64_t> gradient_accumulation_steps;
    std::optional<std::int64_t> train_batch_size;

    friend bool operator==(const ZeroPlan&, const ZeroPlan&) = default;
};

}  // namespace vramfit
