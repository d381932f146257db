// A recording with what Liger puts in place of modules' forwards.
#pragma once

#include <string_view>

#include "spec/network/document.hpp"

namespace vramfit::network {

/// How rewritten programs name Liger's functions: (input, weight), its gradient over the incoming one or apart;
/// (gate, up); (query, key, cos, sin), which gives both turned.
inline constexpr std::string_view kLigerNorm = "liger_kernel.ops.rms_norm.LigerRMSNormFunction";
inline constexpr std::string_view kLigerNormApart = "liger_kernel.ops.rms_norm.LigerRMSNormFunction(in_place=False)";
inline constexpr std::string_view kLigerGate = "liger_kernel.ops.swiglu.LigerSiLUMulFunction";
inline constexpr std::string_view kLigerRope = "liger_kernel.ops.rope.LigerRopeFunction";

/// Whether networks of a recorded type can be asked about with Liger's kernels.
bool has_liger_patches(std::string_view model_type);

/// The recording as liger-kernel 0.8.5 transformers/monkey_patch.py apply_liger_kernel_to_* leaves a loaded network of
/// its type: norms, feed-forward blocks and rotary embeddings. The loss is the caller's.
Document with_liger(Document document);

}  // namespace vramfit::network
