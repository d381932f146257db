// What changed between versions of bitsandbytes.
#include "vramfit/spec/stack.hpp"

namespace vramfit {

// backends/cuda/ops.py bitsandbytes::gemm_4bit, pull request 1949.
bool Stack::product_4bit_is_an_operator() const { return bitsandbytes >= Version{0, 50, 0}; }

// nn/modules.py Linear4bit.__init__: compute_type_is_set is False whatever was given, up to 0.46.
bool Stack::layers_4bit_take_input_dtype() const { return bitsandbytes < Version{0, 47, 0}; }

// autograd/_functions.py MatMul8bitLt: int8_vectorwise_quant and row-major weights from 0.45 on; 0.43 turns them for
// the kernels (functional.py transform).
bool Stack::layers_8bit_are_row_major() const { return bitsandbytes >= Version{0, 45, 0}; }

// autograd/_functions.py MatMul4Bit.forward: ctx.tensors = (A, B); (None, B) from 0.43.2 on.
bool Stack::matmul_4bit_keeps_its_input() const { return bitsandbytes < Version{0, 43, 2}; }

// functional.py quantize_4bit: absmax -= offset; from 0.46 on quantize_blockwise(absmax - offset).
bool Stack::absmax_is_centred_in_place() const { return bitsandbytes < Version{0, 46, 0}; }

// functional.py quantize_blockwise: code=code.to(A.device, copy=True) from 0.46 on.
bool Stack::nested_code_is_shared() const { return bitsandbytes < Version{0, 46, 0}; }

// optim/optimizer.py Optimizer2State.init_state: 2048 in 0.43.3, 256 from 0.44.0 on.
std::int64_t Stack::optimizer_block_size() const { return bitsandbytes < Version{0, 44, 0} ? 2048 : 256; }

}  // namespace vramfit
