// bitsandbytes 0.43.1: autograd/_functions.py MatMul8bitLt and undo_layout, functional.py double_quant, transform,
// igemmlt and mm_dequant, nn/modules.py Int8Params.cuda and Linear8bitLt.forward.
#include "engine/node.hpp"
#include "engine/ops/copy.hpp"
#include "engine/ops/cub_scratch.hpp"
#include "engine/ops/matmul.hpp"
#include "engine/ops/pointwise.hpp"
#include "engine/ops/reduce.hpp"
#include "engine/ops/sum.hpp"
#include "engine/ops/view.hpp"
#include "engine/session.hpp"
#include "model/quantizers/int8.hpp"
#include "vramfit/base/error.hpp"

namespace vramfit::model {

using namespace engine;

namespace {

constexpr int kTileColumns = 32;

/// _get_tile_size of get_special_format_str: col_ampere for capability 8.x, else col_turing.
int tile_rows(const Session& session) { return session.device.capability.major == 8 ? 32 : 8; }

/// double_quant: integers by row and by column, and the largest number of each.
struct DoubleQuantized {
    Tensor row_stats, column_stats;  ///< float32
    Tensor by_column, by_row;        ///< int8
};

/// `a` -- [rows, K] float16. get_colrow_absmax counts outliers by blocks of 16 rows and 256 columns; none is found.
DoubleQuantized double_quant(const Tensor& a, double threshold) {
    Session& session = a.session();
    DoubleQuantized q;
    q.row_stats = empty(session, {a.size(0)}, DType::float32, Op::int8_vectorwise_quant);
    q.column_stats = empty(session, {a.size(1)}, DType::float32, Op::int8_vectorwise_quant);
    Tensor counts;
    if (threshold > 0.0) {
        const Size blocks = round_up(a.size(0), 16) * ceil_div(a.size(1), 256);
        counts = zeros(session, {blocks + 1}, DType::int32);
        use_scratch(session, scan_int32_scratch(session, blocks + 1), Op::cumsum);
    }
    q.by_column = zeros(session, a.sizes(), DType::int8);
    q.by_row = zeros(session, a.sizes(), DType::int8);
    return q;
}

/// What MatMul8bitLt keeps in attributes of `ctx`: CAt and SCAt of its input, although only the weight's gradient,
/// which nobody wants, would need them.
struct TurnedProductState : NodeState {
    State8bit weight;
    Tensor input, by_column, column_stats;
    Dims shape;
    DType bias_dtype = DType::float32;
};

/// get_inverse_transform_indices: three bytes of the positions in a tile are turned on the card.
Tensor inverse_indices(Session& session) {
    const Dims tile{tile_rows(session), kTileColumns};
    for (int byte = 0; byte < 3; ++byte) {
        const Tensor sample = empty(session, tile, DType::int8, Op::to_copy);
        const Tensor turned = zeros(session, tile, DType::int8);
    }
    return empty(session, tile, DType::int64, Op::to_copy);
}

/// undo_layout: rows again. A single column of tiles is not copied a second time.
Tensor undo_layout(const Tensor& turned) {
    const Tensor outputs = empty(turned.session(), turned.sizes(), DType::int8, Op::empty_like);
    if (static_cast<std::int64_t>(turned.size(1)) == kTileColumns) return outputs;
    return empty(turned.session(), turned.sizes(), DType::int8, Op::clone);
}

/// MatMul8bitLt.backward multiplies the padded weight with one number for each row.
void check_whole_tiles(const State8bit& weight) {
    const Tensor& turned = weight.layout->turned;
    const std::int64_t rows = static_cast<std::int64_t>(weight.scales.size(0));
    if (static_cast<std::int64_t>(turned.size(0)) == rows) return;
    throw Error(ErrorKind::invalid, "load.quantization_config",
                "a layer's size is no multiple of the kernels' tiles: its weight cannot be turned back (bitsandbytes)",
                "load_in_4bit, or bitsandbytes 0.45 and later");
}

void turned_backward(Node& node, Grads& in, Grads& out) {
    const auto& state = static_cast<const TurnedProductState&>(*node.state);
    Tensor grad = in[0];
    if (node.wants(1)) out[1] = sum_dim(grad, 0, false, state.bias_dtype);
    if (grad.dim() == 3) grad = contiguous(reshape(grad, {-1, grad.size(-1)}));
    const DoubleQuantized quantized = double_quant(to(grad, DType::float16), 0.0);
    if (!node.wants(0)) return;
    TurnedWeight& layout = *state.weight.layout;
    check_whole_tiles(state.weight);
    if (!layout.tile_indices.defined()) layout.tile_indices = inverse_indices(*node.session);
    const Tensor weight = to(undo_layout(layout.turned), state.input.dtype());
    { const Tensor scales = mul(unsqueeze(state.weight.scales, 1), 1.0); }
    out[0] = view(matmul(grad, weight), state.shape);
}
const NodeType kTurnedBackward{"MatMul8bitLtBackward", turned_backward};

/// mm_dequant: float16, and two statistics that nobody reads.
Tensor dequantized(const Tensor& product, Size out_features) {
    Session& session = product.session();
    const Size rows = product.size(0);
    Tensor out = empty(session, {rows, out_features}, DType::float16, Op::int8_mm_dequant);
    const Tensor row_stats = empty(session, {rows}, DType::float32, Op::int8_mm_dequant);
    const Tensor column_stats = empty(session, {out_features}, DType::float32, Op::int8_mm_dequant);
    return out;
}

/// MatMul8bitLt.forward. A bias is added in the kernel or in place.
Tensor turned_product(const Tensor& input, const State8bit& state, Node* node) {
    Session& session = input.session();
    const GradMode no_grad(session, false);
    TurnedWeight& layout = *state.layout;
    const Size out_features = state.scales.size(0);
    const Tensor a = input.dim() == 3 ? reshape(input, {-1, input.size(-1)}) : input;
    const DoubleQuantized q = double_quant(to(a, DType::float16), state.threshold);
    if (!layout.turned.defined()) {
        const Dims whole{round_up(out_features, tile_rows(session)), round_up(a.size(1), kTileColumns)};
        layout.turned = zeros(session, whole, DType::int8);
    }
    const Tensor left = zeros(session, {a.size(0), round_up(a.size(1), kTileColumns)}, DType::int8);
    const Tensor product = zeros(session, {a.size(0), round_up(out_features, kTileColumns)}, DType::int32);
    Tensor output = dequantized(product, out_features);
    output = to(output, a.dtype());
    if (node) {
        auto& kept = static_cast<TurnedProductState&>(*node->state);
        kept.input = a;
        label_saved(a);
        if (node->wants(0)) {
            kept.by_column = q.by_column;
            kept.column_stats = q.column_stats;
        }
    }
    if (input.dim() != 3) return output;
    return clone(view(output, {input.size(0), input.size(1), out_features}));
}

}  // namespace

void check_8bit_layouts(const Run& run) {
    if (run.stack.layers_8bit_are_row_major()) return;
    // supports_igemmlt: below 7.5 and on a GTX 1630, 1650 or 1660 the product is another one. cuBLASLt has these
    // layouts up to 8.9 (cublasLtOrder_t: CUBLASLT_ORDER_COL4_4R2_8C, CUBLASLT_ORDER_COL32_2R_4R4).
    const Capability& c = run.session.device.capability;
    const bool without_tensor_cores = run.session.device.name.find("GTX 16") != std::string::npos;
    if (c < Capability{7, 5} || c.major > 8 || without_tensor_cores)
        throw Error(ErrorKind::unsupported, "load.quantization_config",
                    "8-bit layers of this version of bitsandbytes are supported on capabilities 7.5 to 8.9",
                    "load_in_4bit, or bitsandbytes 0.45 and later");
}

State8bit quantize_8bit_by_rows_and_columns(Session& session, const Dims& sizes, double threshold) {
    const Tensor half = empty(session, sizes, DType::float16, Op::to_copy);
    label(half, Category::temporaries);
    const DoubleQuantized q = double_quant(half, 0.0);
    label(q.row_stats, Category::quantization_state);
    State8bit state;
    state.scales = q.row_stats;
    state.threshold = threshold;
    state.layout = std::make_shared<TurnedWeight>();
    state.layout->rows = q.by_row;
    return state;
}

Tensor linear_8bit_turned(const Linear& layer, const Tensor& x) {
    const State8bit& state = *layer.in_8bit;
    const Tensor& bias = layer.bias;
    if (bias.defined() && bias.dtype() != x.dtype()) set_data(bias, to(detach(bias), x.dtype()));
    Ref<Node> node;
    if (needs_grad(x, bias)) {
        node = make_node(x.session(), kTurnedBackward);
        add_edge(*node, x);
        add_edge(*node, bias);
        auto attributes = std::make_unique<TurnedProductState>();
        attributes->weight = state;
        attributes->shape = x.sizes();
        if (bias.defined()) attributes->bias_dtype = bias.dtype();
        node->state = std::move(attributes);
    }
    Tensor out = turned_product(x, state, node.get());
    if (node) set_history(out, node);
    state.layout->rows.reset();  // del self.state.CB
    return out;
}

}  // namespace vramfit::model
