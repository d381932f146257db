// Which kernel attention takes (torch 2.11 ATen/native/transformers/cuda/sdp_utils.cpp select_sdp_backend).
#include <fmt/format.h>
#include <array>

#include "engine/ops/attention.hpp"
#include "engine/session.hpp"
#include "vramfit/base/error.hpp"
#include "vramfit/spec/plan_names.hpp"

namespace vramfit::engine {

namespace {

struct Params {
    const Tensor& query;
    const Tensor& key;
    const Tensor& value;
    const Tensor& mask;
    const AttentionArguments& arguments;
    const Stack& stack;
    Capability card;
    bool requires_grad;

    std::int64_t head() const { return static_cast<std::int64_t>(query.size(-1)); }
    bool half() const { return is_half(query.dtype()); }
    bool same_heads() const { return query.size(1) == key.size(1) && query.size(1) == value.size(1); }
    /// check_batch_size_and_num_heads_dense<true>.
    bool heads_or_groups() const { return same_heads() || arguments.enable_gqa; }
};

/// check_last_dim_stride_equals_1_dense, of all kernels but math: a mask may be one that is turned (Doge's, of as many
/// heads as there are pairs of keys and values).
bool last_dims_are_dense(const Params& q) {
    const auto is_dense = [](const Tensor& t) { return !t.defined() || t.strides()[t.dim() - 1] == 1; };
    return is_dense(q.query) && is_dense(q.key) && is_dense(q.value) && is_dense(q.mask);
}

bool same_head_size(const Params& q) {
    return q.query.size(-1) == q.key.size(-1) && q.query.size(-1) == q.value.size(-1);
}

// can_use_flash_attention.
bool flash_can(const Params& q) {
    if (q.mask.defined() || !same_head_size(q) || q.head() > 256) return false;
    const Capability newest = q.stack.flash_attention_runs_beyond_hopper() ? Capability{12, 1} : Capability{9, 0};
    if (q.card < Capability{8, 0} || q.card > newest) return false;
    // check_requires_grad_and_head_dim_gt192_constraints_on_sm86_89_or_120.
    const bool small_shared_memory =
        (q.card >= Capability{8, 6} && q.card <= Capability{8, 9}) || q.card >= Capability{12, 0};
    const bool largest_heads = q.stack.flash_attention_trains_largest_heads() && q.head() > 224;
    const bool refused_head = q.head() > 192 && (!largest_heads || q.arguments.dropout > 0);
    if (q.requires_grad && small_shared_memory && refused_head) return false;
    if (q.arguments.is_causal && q.query.size(-2) != q.key.size(-2)) return false;
    return q.half() && q.heads_or_groups();
}

// can_use_mem_efficient_attention; minimum_gemm_alignment.
bool efficient_can(const Params& q) {
    const std::int64_t alignment = q.half() ? (q.card.major >= 7 ? 8 : 1) : (q.card.major >= 8 ? 4 : 1);
    if (q.query.size(-1) != q.key.size(-1) || q.head() % alignment != 0 || q.value.size(-1) % alignment != 0)
        return false;
    if (q.query.dtype() == DType::bfloat16 && q.card < Capability{8, 0}) return false;
    return q.same_heads() || (q.stack.efficient_attention_groups_heads() && q.heads_or_groups());
}

// can_use_cudnn_attention; check_cudnn_tensor_shapes for cuDNN 9.11 and newer.
bool cudnn_can(const Params& q) {
    if (q.card < Capability{8, 0} || !q.half() || !q.heads_or_groups()) return false;
    const std::int64_t limit = q.card == Capability{9, 0} ? 256 : 128;
    const auto fits = [&](const Tensor& t) { return t.size(-1) <= limit && t.size(-1) % 8 == 0; };
    return fits(q.query) && fits(q.value) && q.key.size(2) > 1;
}

bool can(SdpaKernel kernel, const Params& q) {
    if (q.arguments.forced && *q.arguments.forced != kernel) return false;
    if (kernel != SdpaKernel::math && !last_dims_are_dense(q)) return false;
    switch (kernel) {
        case SdpaKernel::flash: return flash_can(q);
        case SdpaKernel::efficient: return efficient_can(q);
        case SdpaKernel::cudnn: return q.stack.has_cudnn_attention() && cudnn_can(q);
        case SdpaKernel::math: return true;
    }
    return false;
}

// priority_order; check_prefer_cudnn_attention.
std::array<SdpaKernel, 4> order(const Params& q) {
    using enum SdpaKernel;
    const bool hopper_or_newer = (q.card.major == 9 || q.card.major == 10) && (q.card.minor == 0 || q.card.minor == 3);
    if (hopper_or_newer && q.stack.prefers_cudnn_attention()) return {cudnn, flash, efficient, math};
    return {flash, efficient, math, cudnn};
}

}  // namespace

SdpaKernel choose_attention(const Tensor& query, const Tensor& key, const Tensor& value, const Tensor& mask,
                            const AttentionArguments& arguments) {
    Session& session = query.session();
    const Params params{
        query, key, value, mask, arguments, session.stack, session.device.capability, needs_grad(query, key, value)};
    for (const SdpaKernel kernel : order(params))
        if (can(kernel, params)) {
            session.decide("attention kernel", static_cast<std::int64_t>(kernel));
            return kernel;
        }
    throw Error(
        ErrorKind::unsupported, "load.sdpa_kernel",
        fmt::format(
            "No available kernel: {} attention does not take {} with heads of {} channels{} on capability {}.{}",
            name_of(*arguments.forced), name_of(query.dtype()), params.head(), mask.defined() ? " and a mask" : "",
            params.card.major, params.card.minor),
        "leave the kernel to PyTorch (sdpa_kernel null)");
}

}  // namespace vramfit::engine
