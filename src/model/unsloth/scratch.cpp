// Weights of nf4 in 16 bits: unsloth 2026.10.7, kernels/utils.py fast_dequantize with its own kernels, which need
// nothing but the result.
#include "engine/node.hpp"
#include "engine/session.hpp"
#include "model/unsloth/unsloth.hpp"

namespace vramfit::model {

using namespace engine;

namespace {

Dims shape_of(const Linear& layer) { return {layer.out, layer.in}; }

}  // namespace

Tensor Scratch::unpack(const Linear& layer) {
    if (!layer.quantized) return layer.weight;
    const Dims shape = shape_of(layer);
    const DType dtype = layer.quantized->dtype;
    if (!memory_.defined() || memory_.numel() < numel_of(shape)) {
        Session& session = layer.quantized->packed.session();
        memory_ = empty(session, {numel_of(shape)}, dtype, Op::unsloth_scratch);
        label(memory_, Category::workspaces);
    }
    Tensor weight = alias(memory_, shape, contiguous_strides(shape));
    holders_[&layer] = weight;
    return weight;
}

Tensor unpack_once(const Linear& layer) {
    if (!layer.quantized) return layer.weight;
    return empty(layer.quantized->packed.session(), shape_of(layer), layer.quantized->dtype, Op::dequantize_4bit);
}

}  // namespace vramfit::model
