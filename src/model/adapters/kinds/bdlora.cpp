// peft 0.21.2 tuners/lora/variants.py BdLoraLinearVariant and BlockDiagonalLinear.
#include "engine/ops/copy.hpp"
#include "engine/ops/dropout.hpp"
#include "engine/ops/einsum.hpp"
#include "engine/ops/in_place.hpp"
#include "engine/ops/pointwise.hpp"
#include "engine/ops/view.hpp"
#include "engine/session.hpp"
#include "model/adapters/kinds/kinds.hpp"
#include "model/network/modules.hpp"
#include "spec/adapters/read.hpp"

namespace vramfit::model {

using namespace engine;

// Both matrices are there before one of them is replaced.
void create_bdlora(const NewAdapter& made) {
    const BlockDiagonal& blocks = *made.plan().block_diagonal;
    const InBlocks in_blocks = which_in_blocks(blocks, made.target.module.name);
    Session& session = made.run.session;
    made.add("lora_A.default.weight", {made.rank, made.layer.in}, 1);
    made.add("lora_B.default.weight", {made.layer.out, made.rank}, 2);
    if (in_blocks.a)
        made.adapter.parameters[0].tensor = empty(session, {made.rank, made.layer.in / blocks.blocks}, made.dtype);
    else if (in_blocks.b)
        made.adapter.parameters[1].tensor = empty(session, {made.layer.out, made.rank / blocks.blocks}, made.dtype);
}

namespace {

/// BlockDiagonalLinear.forward: weight -- [out, in / blocks].
Tensor in_blocks(const Tensor& x, const Tensor& weight, Size blocks) {
    const Tensor flat = reshape(x, {-1, x.size(-1)});
    const Tensor parts = reshape(flat, {flat.size(0), blocks, flat.size(1) / blocks});
    const Tensor matrices = view(weight, {blocks, weight.size(0) / blocks, weight.size(1)});
    const Tensor out = einsum("bim,inm->bin", parts, matrices);
    Dims sizes = x.sizes();
    sizes[-1] = weight.size(0);
    return reshape(out, sizes);
}

/// One of both matrices, in blocks or not.
Tensor product(const Tensor& x, const Tensor& weight, bool has_blocks, Size blocks) {
    return has_blocks ? in_blocks(x, weight, blocks) : functional_linear(x, weight);
}

}  // namespace

Tensor bdlora(const Linear& layer, const Tensor& x) {
    const OtherAdapter& adapter = *layer.other;
    const BlockDiagonal& blocks = *adapter.plan->block_diagonal;
    const InBlocks is = which_in_blocks(blocks, layer.name);
    Tensor result = base_layer(layer, x);
    const DType dtype = result.dtype();
    const Tensor cast = to(x, adapter[0].dtype());
    const Tensor input = dropout(cast, adapter.dropout);
    const Tensor scaled = [&] {
        const Tensor output = [&] {
            const Tensor inner = product(input, adapter[0], is.a, blocks.blocks);
            return product(inner, adapter[1], is.b && !is.a, blocks.blocks);
        }();
        return mul(output, 1.0);
    }();
    add_in_place(result, scaled);
    return to(result, dtype);
}

}  // namespace vramfit::model
