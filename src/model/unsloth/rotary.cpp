// unsloth 2026.10.7, models/llama.py LlamaRotaryEmbedding and LlamaExtendedRotaryEmbedding, kernels/rope_embedding.py
// Fast_RoPE_Embedding_QK.
#include "model/unsloth/rotary.hpp"

#include <algorithm>

#include "engine/node.hpp"
#include "engine/ops/copy.hpp"
#include "engine/ops/pointwise.hpp"
#include "vramfit/base/checked.hpp"

namespace vramfit::model {

using namespace engine;

namespace {

constexpr std::int64_t kRowsAtOnce = 32768;  // _rope_build_chunk_rows, and what a table begins with: 4 * 8192
constexpr std::int64_t kGrowth = 8192;       // _round_rope_size

/// cos and sin of some positions in 16 bits, with what they were made of; a local variable each.
struct Rows {
    Tensor angles, both, cos, sin;
};

/// The next positions: each variable lets go of what it had once the new one is there.
void compute_rows(Rows& rows, Session& session, std::int64_t positions, std::int64_t head, DType dtype) {
    rows.angles = empty(session, {positions, head / 2}, DType::float32, Op::mul);
    rows.both = empty(session, {positions, head}, DType::float32, Op::cat);
    const auto table = [&](Op op) {
        Tensor t = pointwise_result(rows.both, DType::float32, op);
        t = mul(t, 1.0);  // attention_scaling
        return to(t, dtype);
    };
    rows.cos = table(Op::cos);
    rows.sin = table(Op::sin);
}

/// What begins with all positions is made in host memory; the cast takes place on the device.
Tensor from_host(Session& session, std::int64_t positions, std::int64_t head, DType dtype) {
    Tensor table = empty(session, {positions, head}, dtype, Op::to_copy);
    const Tensor in_float32 = empty(session, {positions, head}, DType::float32, Op::copy_);
    return table;
}

/// GemmaFixedRotaryEmbedding: made in host memory, on the device in float32.
void make_tables_of_gemma(const Run& run, std::int64_t rows) {
    const Scoped<Category> fresh(run.session.recorder.fresh, Category::workspaces);
    const Dims all{rows, run.spec.head_dim};
    Tensor cos = empty(run.session, all, DType::float32, Op::to_copy);
    Tensor sin = empty(run.session, all, DType::float32, Op::to_copy);
    run.unsloth->tables = {std::move(cos), std::move(sin), rows};
}

/// _set_cos_sin_cache on the device; what there was stays until it is done.
void build_tables(const Run& run, std::int64_t all) {
    Session& session = run.session;
    const Scoped<Category> fresh(session.recorder.fresh, Category::workspaces);
    const std::int64_t head = run.spec.head_dim;
    const DType dtype = run.plan.load.dtype;
    Tensor numbers = empty(session, {all}, DType::int64, Op::arange);
    numbers = to(numbers, DType::float32);
    Rows rows;
    Tensor cos, sin;
    for (std::int64_t begin = 0; begin < all; begin += kRowsAtOnce) {
        compute_rows(rows, session, std::min(kRowsAtOnce, all - begin), head, dtype);
        if (begin > 0) continue;
        if (all <= kRowsAtOnce) {
            cos = std::move(rows.cos);
            sin = std::move(rows.sin);
        } else {
            cos = empty(session, {all, head}, dtype);
            sin = empty(session, {all, head}, dtype, Op::empty_like);
        }
    }
    run.unsloth->tables = {std::move(cos), std::move(sin), all};
}

Tensor frequencies_of(const Run& run) {
    const Scoped<Category> fresh(run.session.recorder.fresh, Category::workspaces);
    return empty(run.session, {run.spec.head_dim / 2}, DType::float32, Op::to_copy);
}

}  // namespace

void make_placeholders(const Run& run) {
    Unsloth& unsloth = *run.unsloth;
    unsloth.cos = empty(run.session, {1}, run.plan.load.dtype);
    unsloth.sin = empty(run.session, {1}, run.plan.load.dtype);
}

void make_position_tables(const Run& run) {
    Unsloth& unsloth = *run.unsloth;
    if (unsloth.has_tables) return;
    unsloth.has_tables = true;
    const std::int64_t positions = run.spec.max_position_embeddings;
    if (is_gemma(run)) return make_tables_of_gemma(run, positions);
    unsloth.frequencies = frequencies_of(run);
    if (positions <= kRowsAtOnce) {
        const Scoped<Category> fresh(run.session.recorder.fresh, Category::workspaces);
        const std::int64_t head = run.spec.head_dim;
        Tensor cos = from_host(run.session, positions, head, run.plan.load.dtype);
        Tensor sin = from_host(run.session, positions, head, run.plan.load.dtype);
        unsloth.tables = {std::move(cos), std::move(sin), positions};
        return;
    }
    // Padded rows bring no positions: the table begins with the first ones.
    build_tables(run, run.plan.unsloth.padding_free ? round_up(positions, kGrowth) : kRowsAtOnce);
}

PositionTables tables_for(const Run& run, const PositionTables& given, Size tokens) {
    Session& session = run.session;
    if (!session.decide("more tokens than positions", tokens > given.rows)) return {};
    Unsloth& unsloth = *run.unsloth;
    if (session.decide("the rotary tables grow", tokens > unsloth.tables.rows)) {
        const std::int64_t rows = kGrowth * session.decide("rows of rotary tables", ceil_div(tokens, kGrowth));
        if (is_gemma(run)) {
            make_tables_of_gemma(run, rows);
        } else {
            unsloth.frequencies = frequencies_of(run);
            build_tables(run, rows);
        }
    }
    const PositionTables& grown = unsloth.tables;
    return {to(grown.cos, run.plan.load.dtype), to(grown.sin, run.plan.load.dtype), grown.rows};
}

namespace {

void turn_backward(Node&, Grads& in, Grads& out) {
    out[0] = clone(in[0]);
    out[1] = clone(in[1]);
}
const NodeType kTurnBackward{"Fast_RoPE_Embedding_QKBackward", turn_backward};

void turn_in_place_backward(Node&, Grads& in, Grads& out) {
    out[0] = detach(in[0]);
    out[1] = detach(in[1]);
}
const NodeType kTurnInPlaceBackward{"Fast_RoPE_EmbeddingBackward", turn_in_place_backward};

}  // namespace

void turn(Tensor& query, Tensor& key, bool in_place, const PositionTables& tables) {
    Session& session = query.session();
    Ref<Node> node;
    if (needs_grad(query, key)) {
        node = make_node(session, in_place ? kTurnInPlaceBackward : kTurnBackward);
        add_edge(*node, query);
        add_edge(*node, key);
        if (tables.cos.defined()) {
            node->save(tables.cos);
            node->save(tables.sin);
        }
    }
    Tensor q, k;
    {
        const GradMode no_grad(session, false);
        q = in_place || query.is_contiguous() ? detach(query) : clone(query);
        k = in_place || key.is_contiguous() ? detach(key) : clone(key);
    }
    if (node) {
        set_history(q, node);
        set_history(k, node);
    }
    query = std::move(q);
    key = std::move(k);
}

}  // namespace vramfit::model
