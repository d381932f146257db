// Names of the operators that allocate: PyTorch's own, as its profiler shows them.
#pragma once

#include <cstdint>

namespace vramfit::engine {

#define VRAMFIT_OPS(X)                                                      \
    X(none, "none")                                                         \
    X(parameter, "parameter")                                               \
    X(empty, "aten::empty")                                                 \
    X(empty_like, "aten::empty_like")                                       \
    X(resize, "UntypedStorage.resize_")                                     \
    X(split_with_sizes_copy, "aten::split_with_sizes_copy")                 \
    X(chunk_cat, "aten::_chunk_cat")                                        \
    X(to_copy, "aten::_to_copy")                                            \
    X(clone, "aten::clone")                                                 \
    X(repeat, "aten::repeat")                                               \
    X(index_select, "aten::index_select")                                   \
    X(index, "aten::index")                                                 \
    X(index_put, "aten::_index_put_impl_")                                  \
    X(sort, "aten::sort")                                                   \
    X(topk, "aten::topk")                                                   \
    X(histc, "aten::histc")                                                 \
    X(arange, "aten::arange")                                               \
    X(eye, "aten::eye")                                                     \
    X(new_empty, "aten::new_empty")                                         \
    X(deepcopy, "copy.deepcopy")                                            \
    X(add, "aten::add")                                                     \
    X(sub, "aten::sub")                                                     \
    X(mul, "aten::mul")                                                     \
    X(div, "aten::div")                                                     \
    X(floor, "aten::floor")                                                 \
    X(floor_divide, "aten::floor_divide")                                   \
    X(remainder, "aten::remainder")                                         \
    X(neg, "aten::neg")                                                     \
    X(pow, "aten::pow")                                                     \
    X(rsqrt, "aten::rsqrt")                                                 \
    X(sqrt, "aten::sqrt")                                                   \
    X(erfinv, "aten::erfinv")                                               \
    X(cos, "aten::cos")                                                     \
    X(sin, "aten::sin")                                                     \
    X(tanh, "aten::tanh")                                                   \
    X(tanh_backward, "aten::tanh_backward")                                 \
    X(silu, "aten::silu")                                                   \
    X(silu_backward, "aten::silu_backward")                                 \
    X(sigmoid, "aten::sigmoid")                                             \
    X(sigmoid_backward, "aten::sigmoid_backward")                           \
    X(log_sigmoid_forward, "aten::log_sigmoid_forward")                     \
    X(log_sigmoid_backward, "aten::log_sigmoid_backward")                   \
    X(gelu, "aten::gelu")                                                   \
    X(gelu_backward, "aten::gelu_backward")                                 \
    X(relu, "aten::relu")                                                   \
    X(threshold_backward, "aten::threshold_backward")                       \
    X(mean, "aten::mean")                                                   \
    X(sum, "aten::sum")                                                     \
    X(reduce_scratch, "reduction scratch")                                  \
    X(min, "aten::min")                                                     \
    X(max, "aten::max")                                                     \
    X(amax, "aten::amax")                                                   \
    X(amin, "aten::amin")                                                   \
    X(maximum, "aten::maximum")                                             \
    X(minimum, "aten::minimum")                                             \
    X(cumsum, "aten::cumsum")                                               \
    X(cat, "aten::cat")                                                     \
    X(all_gather, "_c10d_functional::all_gather_into_tensor")               \
    X(mm, "aten::mm")                                                       \
    X(bmm, "aten::bmm")                                                     \
    X(addmm, "aten::addmm")                                                 \
    X(baddbmm, "aten::baddbmm")                                             \
    X(grouped_mm, "aten::_grouped_mm")                                      \
    X(cublas_workspace, "cublas workspace")                                 \
    X(cublaslt_workspace, "cublasLt workspace")                             \
    X(softmax, "aten::_softmax")                                            \
    X(softmax_backward, "aten::_softmax_backward_data")                     \
    X(log_softmax, "aten::_log_softmax")                                    \
    X(log_softmax_backward, "aten::_log_softmax_backward_data")             \
    X(mse_loss, "aten::mse_loss")                                           \
    X(mse_loss_backward, "aten::mse_loss_backward")                         \
    X(nll_loss_forward, "aten::nll_loss_forward")                           \
    X(nll_loss_backward, "aten::nll_loss_backward")                         \
    X(constant_pad_nd, "aten::constant_pad_nd")                             \
    X(fused_rms_norm, "aten::_fused_rms_norm")                              \
    X(fused_rms_norm_backward, "aten::_fused_rms_norm_backward")            \
    X(layer_norm, "aten::native_layer_norm")                                \
    X(layer_norm_backward, "aten::native_layer_norm_backward")              \
    X(native_dropout, "aten::native_dropout")                               \
    X(native_dropout_backward, "aten::native_dropout_backward")             \
    X(zeros, "aten::zeros")                                                 \
    X(zeros_like, "aten::zeros_like")                                       \
    X(ones_like, "aten::ones_like")                                         \
    X(ones, "aten::ones")                                                   \
    X(full, "aten::full")                                                   \
    X(eq, "aten::eq")                                                       \
    X(ne, "aten::ne")                                                       \
    X(le, "aten::le")                                                       \
    X(lt, "aten::lt")                                                       \
    X(gt, "aten::gt")                                                       \
    X(ge, "aten::ge")                                                       \
    X(abs, "aten::abs")                                                     \
    X(all, "aten::all")                                                     \
    X(any, "aten::any")                                                     \
    X(bitwise_and, "aten::bitwise_and")                                     \
    X(bitwise_or, "aten::bitwise_or")                                       \
    X(bitwise_not, "aten::bitwise_not")                                     \
    X(logical_not, "aten::logical_not")                                     \
    X(logical_and, "aten::logical_and")                                     \
    X(logical_or, "aten::logical_or")                                       \
    X(full_like, "aten::full_like")                                         \
    X(where, "aten::where")                                                 \
    X(masked_fill, "aten::masked_fill")                                     \
    X(tril, "aten::tril")                                                   \
    X(triu, "aten::triu")                                                   \
    X(scalar_tensor, "aten::scalar_tensor")                                 \
    X(reciprocal, "aten::reciprocal")                                       \
    X(clamp, "aten::clamp")                                                 \
    X(linalg_vector_norm, "aten::linalg_vector_norm")                       \
    X(foreach_norm, "aten::_foreach_norm")                                  \
    X(foreach_sqrt, "aten::_foreach_sqrt")                                  \
    X(foreach_add, "aten::_foreach_add")                                    \
    X(foreach_mul, "aten::_foreach_mul")                                    \
    X(nonzero, "aten::nonzero")                                             \
    X(masked_scatter, "aten::masked_scatter")                               \
    X(exp, "aten::exp")                                                     \
    X(log, "aten::log")                                                     \
    X(logsumexp, "aten::logsumexp")                                         \
    X(gather, "aten::gather")                                               \
    X(argmax, "aten::argmax")                                               \
    X(isin, "aten::isin")                                                   \
    X(multinomial, "aten::multinomial")                                     \
    X(nan_to_num, "aten::nan_to_num")                                       \
    X(nansum, "aten::nansum")                                               \
    X(std, "aten::std")                                                     \
    X(int8_vectorwise_quant, "bitsandbytes::int8_vectorwise_quant")         \
    X(int8_linear_matmul, "bitsandbytes::int8_linear_matmul")               \
    X(int8_mm_dequant, "bitsandbytes::int8_mm_dequant")                     \
    X(int8_dequant, "bitsandbytes::int8_vectorwise_dequant")                \
    X(flash_forward, "aten::_flash_attention_forward")                      \
    X(flash_backward, "aten::_flash_attention_backward")                    \
    X(flash_attn_forward, "flash_attn forward")                             \
    X(flash_attn_backward, "flash_attn backward")                           \
    X(efficient_forward, "aten::_efficient_attention_forward")              \
    X(efficient_backward, "aten::_efficient_attention_backward")            \
    X(cudnn_forward, "aten::_scaled_dot_product_cudnn_attention")           \
    X(cudnn_backward, "aten::_scaled_dot_product_cudnn_attention_backward") \
    X(embedding_backward, "aten::embedding_dense_backward")                 \
    X(radix_sort, "sort scratch")                                           \
    X(scan, "scan scratch")                                                 \
    X(quantize_4bit, "bitsandbytes::quantize_4bit")                         \
    X(quantize_blockwise, "bitsandbytes::quantize_blockwise")               \
    X(dequantize_4bit, "bitsandbytes::dequantize_4bit")                     \
    X(dequantize_blockwise, "bitsandbytes::dequantize_blockwise")           \
    X(gemm_4bit, "bitsandbytes::gemm_4bit")                                 \
    X(optimizer_state, "optimizer state")                                   \
    X(scaler, "gradient scaler")                                            \
    X(loader, "loader")                                                     \
    X(expm1, "aten::expm1")                                                 \
    X(log1p, "aten::log1p")                                                 \
    X(softplus, "aten::softplus")                                           \
    X(softplus_backward, "aten::softplus_backward")                         \
    X(sgn, "aten::sgn")                                                     \
    X(conv_depthwise2d, "aten::_conv_depthwise2d")                          \
    X(convolution_backward, "aten::convolution_backward")                   \
    X(solve_triangular, "aten::linalg_solve_triangular")                    \
    X(flip, "aten::flip")                                                   \
    X(copy_, "aten::copy_")                                                 \
    X(unsloth_norm, "Fast_RMS_Layernorm")                                   \
    X(unsloth_swiglu, "LoRA_MLP")                                           \
    X(unsloth_scratch, "weight scratch")                                    \
    X(unsloth_staging, "staging buffer")                                    \
    X(compiled, "compiled kernel")                                          \
    X(trial_run, "trial run of a kernel")                                   \
    X(log2, "aten::log2")                                                   \
    X(round, "aten::round")                                                 \
    X(exp2, "aten::exp2")                                                   \
    X(unsloth_scale, "unsloth_zoo::fused_linear_scale_rows")                \
    X(rand_like, "aten::rand_like")                                         \
    X(scatter, "aten::scatter")                                             \
    X(scatter_add, "aten::scatter_add")                                     \
    X(index_copy, "aten::index_copy")                                       \
    X(index_add, "aten::index_add")                                         \
    X(roll, "aten::roll")                                                   \
    X(var_mean, "aten::var_mean")

enum class Op : std::uint16_t {
#define VRAMFIT_OP_ENUM(id, text) id,
    VRAMFIT_OPS(VRAMFIT_OP_ENUM)
#undef VRAMFIT_OP_ENUM
};

const char* name_of(Op op);
int op_count();

}  // namespace vramfit::engine
