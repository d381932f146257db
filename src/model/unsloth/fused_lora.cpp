// unsloth 2026.10.7 and 2026.10.9, kernels/fast_lora.py LoRA_QKV, LoRA_W, LoRA_MLP and kernels/utils.py matmul_lora.
#include "model/unsloth/fused_lora.hpp"

#include <algorithm>
#include <vector>

#include "engine/node.hpp"
#include "engine/ops/copy.hpp"
#include "engine/ops/matmul.hpp"
#include "engine/ops/view.hpp"
#include "engine/session.hpp"

namespace vramfit::model {

using namespace engine;

namespace {

/// What the functions find in `ctx` and in module attributes.
struct FusedState : NodeState {
    Unsloth* unsloth = nullptr;
    std::vector<const Linear*> layers;
};

Tensor flat(const Tensor& t) { return view(detach(t), {-1, t.size(-1)}); }

/// An adapter's matrix in the type of what it is multiplied with.
Tensor in_16_bits(const Tensor& matrix, DType dtype) { return to(detach(matrix), dtype); }

/// out += (x A^T) B^T, in place.
void add_adapter(const Linear& layer, const Tensor& x) {
    Tensor product;
    {
        const Tensor a = in_16_bits(layer.lora->a, x.dtype());
        product = mm(x, transpose2d(a));
    }
    const Tensor b = in_16_bits(layer.lora->b, x.dtype());
    cublas_workspace(x.session());
}

/// What the adapters of one function after the other are given in place of x, and the masks that are kept.
struct Dropped {
    Tensor rows;
    std::vector<Tensor> masks;
};

/// native_dropout: a mask in bytes, and a copy that takes the place of the one before.
void drop(const Linear& layer, const Tensor& x, Dropped& dropped) {
    if (layer.lora->dropout == 0) return;
    dropped.masks.push_back(empty(x.session(), x.sizes(), DType::boolean, Op::native_dropout));
    dropped.rows = empty(x.session(), x.sizes(), x.dtype(), Op::native_dropout);
}

/// A layer's weight in 16 bits.
Tensor unpacked(Unsloth& unsloth, const Linear& layer) {
    const Stack& stack = layer.lora->a.session().stack;
    const bool once = layer.lora->dropout > 0 && stack.unsloth_drops_without_scratch();
    return once ? unpack_once(layer) : unsloth.scratch.unpack(layer);
}

/// x W^T with its adapter. x -- [T, in].
Tensor product_of(Unsloth& unsloth, const Linear& layer, const Tensor& x, Dropped& dropped) {
    drop(layer, x, dropped);
    Tensor out = mm(x, transpose2d(unpacked(unsloth, layer)));
    add_adapter(layer, x);
    return out;
}

Tensor like(const Tensor& rows, const Tensor& given) {
    Dims sizes = given.sizes();
    sizes[-1] = rows.size(-1);
    return view(rows, sizes);
}

Ref<Node> node_of(const NodeType& type, Unsloth& unsloth, const Tensor& hidden, std::vector<const Linear*> layers) {
    if (!needs_grad(hidden, layers[0]->lora->a)) return {};
    Ref<Node> node = make_node(hidden.session(), type);
    add_edge(*node, hidden);
    for (const Linear* layer : layers) {
        add_edge(*node, layer->lora->a);
        add_edge(*node, layer->lora->b);
    }
    auto state = std::make_unique<FusedState>();
    state->unsloth = &unsloth;
    state->layers = std::move(layers);
    node->state = std::move(state);
    return node;
}

const FusedState& state_of(const Node& node) { return static_cast<const FusedState&>(*node.state); }

/// The adapters' matrices in 16 bits, for the whole of a backward function.
std::vector<Tensor> casts_of(const FusedState& state, DType dtype) {
    std::vector<Tensor> out;
    for (const Linear* layer : state.layers)
        for (const Tensor* t : {&layer->lora->a, &layer->lora->b}) out.push_back(in_16_bits(*t, dtype));
    return out;
}

/// Where an adapter's gradients go.
void make_gradients(const Linear& layer, DType dtype, std::size_t at, Grads& out) {
    Session& session = layer.lora->a.session();
    const Scoped<Category> fresh(session.recorder.fresh, Category::gradients);
    out[at] = empty(session, layer.lora->a.sizes(), dtype, Op::empty_like);
    out[at + 1] = empty(session, layer.lora->b.sizes(), dtype, Op::empty_like);
}

/// [T, r], the product of rows with one of an adapter's matrices.
Tensor narrow_product(const Tensor& rows, const Linear& layer) {
    Tensor out = empty(rows.session(), {rows.size(0), layer.lora->a.size(0)}, rows.dtype(), Op::mm);
    cublas_workspace(rows.session());
    return out;
}

/// What the adapter was given, made again from the mask; undefined without dropout.
Tensor dropped_again(const Linear& layer, const Tensor& x) {
    if (layer.lora->dropout == 0) return {};
    return empty(x.session(), x.sizes(), x.dtype(), Op::native_dropout_backward);
}

/// The part of the gradient of x that comes through a dropped adapter: [T, in], added to that of the weight.
void through_dropout(const Linear& layer, const Tensor& x) {
    if (layer.lora->dropout == 0) return;
    Tensor product = empty(x.session(), x.sizes(), x.dtype(), Op::mm);
    cublas_workspace(x.session());
    const Tensor masked = empty(x.session(), x.sizes(), x.dtype(), Op::native_dropout_backward);
    product.reset();
}

/// The gradients of A, and those of the layers' input. x -- [T, in].
void through_inputs(std::initializer_list<const Linear*> layers, const Tensor& x) {
    Tensor given;
    for (const Linear* layer : layers) {
        given = dropped_again(*layer, x);
        (void)narrow_product(x, *layer);
    }
    given.reset();
    for (const Linear* layer : layers) {
        (void)unpack_once(*layer);
        through_dropout(*layer, x);
    }
}

/// The gradient of a function's input is written over the input.
Tensor in_place_of(const Tensor& input) { return detach(input); }

void qkv_backward(Node& node, Grads& in, Grads& out) {
    const FusedState& state = state_of(node);
    const Tensor x = node.unpack(0);
    const DType dtype = x.dtype();
    std::vector<Tensor> rows;
    for (std::size_t i = 0; i < 3; ++i) rows.push_back(reshape(in[i], {-1, in[i].size(-1)}));
    {
        const std::vector<Tensor> casts = casts_of(state, dtype);
        for (std::size_t i = 0; i < 3; ++i) make_gradients(*state.layers[i], dtype, 1 + 2 * i, out);
        std::vector<Tensor> through_b;
        for (std::size_t i = 0; i < 3; ++i) through_b.push_back(narrow_product(rows[i], *state.layers[i]));
        through_inputs({state.layers[0], state.layers[1], state.layers[2]}, flat(x));
    }
    out[0] = in_place_of(x);
}
const NodeType kQkvBackward{"LoRA_QKVBackward", qkv_backward};

void fused_linear_backward(Node& node, Grads& in, Grads& out) {
    const FusedState& state = state_of(node);
    const Linear& layer = *state.layers[0];
    const Tensor x = node.unpack(0);
    const Tensor rows = reshape(in[0], {-1, in[0].size(-1)});
    const std::vector<Tensor> casts = casts_of(state, x.dtype());
    make_gradients(layer, x.dtype(), 1, out);
    const Tensor through_b = narrow_product(rows, layer);
    {
        const Tensor given = dropped_again(layer, flat(x));
        (void)narrow_product(flat(x), layer);
    }
    {
        const Tensor weight = unpack_once(layer);
        out[0] = like(mm(rows, weight), x);
    }
    through_dropout(layer, flat(x));
}
const NodeType kFusedLinearBackward{"LoRA_WBackward", fused_linear_backward};

// Gate, up and down, in this order. The gradient of the product is written over by those of gate and up.
void fused_mlp_backward(Node& node, Grads& in, Grads& out) {
    const FusedState& state = state_of(node);
    const Linear &gate = *state.layers[0], &up = *state.layers[1], &down = *state.layers[2];
    const Tensor x = node.unpack(0);
    const DType dtype = x.dtype();
    const Tensor rows = reshape(in[0], {-1, in[0].size(-1)});
    {
        const std::vector<Tensor> casts = casts_of(state, dtype);
        const Tensor of_product = mm(rows, unpacked(*state.unsloth, down));
        Tensor through_b = narrow_product(rows, down);
        if (down.lora->dropout > 0) {
            Tensor product = empty(rows.session(), of_product.sizes(), dtype, Op::mm);
            cublas_workspace(rows.session());
            through_b.reset();
            const Tensor masked = empty(rows.session(), of_product.sizes(), dtype, Op::native_dropout_backward);
            product.reset();
        }
        through_b.reset();
        const Tensor given = dropped_again(down, of_product);
        make_gradients(down, dtype, 5, out);
        make_gradients(gate, dtype, 1, out);
        make_gradients(up, dtype, 3, out);
        for (int i = 0; i < 2; ++i) (void)narrow_product(rows, down);
        const Tensor through_up = narrow_product(of_product, up);
        const Tensor through_gate = narrow_product(of_product, gate);
        through_inputs({&up, &gate}, flat(x));
    }
    out[0] = in_place_of(x);
}
const NodeType kMlpBackward{"LoRA_MLPBackward", fused_mlp_backward};

void keep_masks(const Dropped& dropped, Node& node) {
    for (const Tensor& mask : dropped.masks) node.save(mask);
}

}  // namespace

bool is_fused(std::initializer_list<const Linear*> layers) {
    return std::all_of(layers.begin(), layers.end(),
                       [](const Linear* layer) { return layer->lora && !layer->has_bias; });
}

FusedProjections fused_qkv(Unsloth& unsloth, const DecoderLayer& layer, const Tensor& hidden) {
    const Ref<Node> node = node_of(kQkvBackward, unsloth, hidden, {&layer.q, &layer.k, &layer.v});
    const GradMode no_grad(hidden.session(), false);
    const Tensor x = flat(hidden);
    FusedProjections out;
    Dropped dropped;
    out.q = like(product_of(unsloth, layer.q, x, dropped), hidden);
    out.k = like(product_of(unsloth, layer.k, x, dropped), hidden);
    out.v = like(product_of(unsloth, layer.v, x, dropped), hidden);
    if (!node) return out;
    for (const Tensor* t : {&out.q, &out.k, &out.v}) set_history(*t, node);
    node->save(hidden);
    keep_masks(dropped, *node);
    return out;
}

Tensor fused_linear(Unsloth& unsloth, const Linear& layer, const Tensor& hidden) {
    const Ref<Node> node = node_of(kFusedLinearBackward, unsloth, hidden, {&layer});
    const GradMode no_grad(hidden.session(), false);
    Dropped dropped;
    Tensor out = like(product_of(unsloth, layer, flat(hidden), dropped), hidden);
    if (!node) return out;
    set_history(out, node);
    node->save(hidden);
    keep_masks(dropped, *node);
    return out;
}

Tensor fused_mlp(Unsloth& unsloth, const DecoderLayer& layer, const Tensor& hidden) {
    const Ref<Node> node = node_of(kMlpBackward, unsloth, hidden, {&layer.gate, &layer.up, &layer.down});
    const GradMode no_grad(hidden.session(), false);
    const Tensor x = flat(hidden);
    Dropped dropped;
    Tensor gate = product_of(unsloth, layer.gate, x, dropped);
    Tensor up = product_of(unsloth, layer.up, x, dropped);
    dropped.rows.reset();
    const Tensor product = empty(x.session(), up.sizes(), up.dtype(), Op::unsloth_swiglu);
    Tensor out = like(product_of(unsloth, layer.down, product, dropped), hidden);
    if (!node) return out;
    set_history(out, node);
    for (const Tensor* t : std::initializer_list<const Tensor*>{&hidden, &gate, &up}) node->save(*t);
    keep_masks(dropped, *node);
    return out;
}

}  // namespace vramfit::model
