// transformers 4.45 to 5.17 models/llama/modeling_llama.py: LlamaRotaryEmbedding, rotate_half, apply_rotary_pos_emb.
#include "model/layers/rotary.hpp"

#include <algorithm>

#include "engine/ops/attention.hpp"
#include "engine/ops/copy.hpp"
#include "engine/ops/matmul.hpp"
#include "engine/ops/pointwise.hpp"
#include "engine/ops/reduce.hpp"
#include "engine/ops/split.hpp"
#include "engine/ops/view.hpp"
#include "engine/session.hpp"
#include "vramfit/base/error.hpp"

namespace vramfit::model {

using namespace engine;

namespace {

Tensor rotate_half(const Tensor& x) {
    const Size width = x.size(-1);
    const Tensor x1 = slice(x, -1, 0, width / 2);
    const Tensor x2 = slice(x, -1, width / 2, width);
    const Tensor halves[2] = {neg(x2), x1};
    return cat(halves, -1);
}

/// Python lets go of a sum's left operand first.
Tensor rotate(const Tensor& x, const Tensor& cos, const Tensor& sin) {
    Tensor turned;
    const Tensor straight = mul(x, cos);
    turned = rotate_half(x);
    turned = mul(turned, sin);
    return add(straight, turned);
}

/// x[..., :turned] and x[..., turned:].
struct Halves {
    Tensor turned, passed;
};

Halves halves(const Tensor& x, Size turned) { return {last_places(x, 0, turned), last_places(x, turned, x.size(-1))}; }

Tensor join(const Tensor& turned, const Tensor& passed) {
    const Tensor parts[2] = {turned, passed};
    return cat(parts, -1);
}

/// _compute_dynamic_ntk_parameters with the length as a tensor.
Tensor dynamic_frequencies(const Tensor& length, Size count) {
    Session& session = length.session();
    Tensor base;
    {
        const Tensor limit = empty(session, {}, DType::int64, Op::to_copy);
        const Tensor longest = pointwise_result(length, DType::int64, Op::maximum);
        base = mul(longest, 1.0);
        base = div(base, 1);
        base = add(base, 1.0);
        base = pointwise_result(base, base.dtype(), Op::pow);
        base = mul(base, 1.0);
    }
    Tensor exponents = to_device(host_tensor(session, {count}, DType::float32));
    exponents = div(exponents, 1);
    const Tensor powers = pointwise_result(exponents, DType::float32, Op::pow);
    const Tensor inverse = reciprocal(powers);
    return mul(inverse, 1.0);
}

/// _compute_longrope_parameters.
Tensor long_frequencies(Session& session, Size count) {
    const Tensor factors = to_device(host_tensor(session, {count}, DType::float32));
    Tensor exponents = arange(session, count);
    exponents = to(exponents, DType::float32);
    exponents = div(exponents, 1);
    Tensor scaled;
    {
        const Tensor powers = pointwise_result(exponents, DType::float32, Op::pow);
        { const Tensor base = empty(session, {}, DType::float64, Op::scalar_tensor); }
        scaled = mul(factors, powers);
    }
    const Tensor inverse = reciprocal(scaled);
    return mul(inverse, 1.0);
}

/// longrope_frequency_update: made anew in each pass beyond the original length, else the original ones.
void choose_long_frequencies(const Network& network, const Tensor& position_ids) {
    const ModelSpec& spec = *network.spec;
    if (spec.original_max_position_embeddings == 0)
        throw Error(ErrorKind::unsupported, "model.rope_scaling",
                    "rotary embeddings of type longrope are not supported in this family",
                    "supported: linear, dynamic, yarn, llama3");
    Session& session = position_ids.session();
    const GradMode no_grad(session, false);
    Tensor length = reduce(position_ids, 3, false, DType::int64, Op::max);
    length = add(length, 1);
    { const Tensor grown = compare(Op::gt, length); }
    const bool is_long = position_ids.size(-1) > spec.original_max_position_embeddings;
    if (session.decide("long rotary frequencies", is_long))
        network.buffers[0] = long_frequencies(session, spec.rotary_dim() / 2);
    else
        network.buffers[0] = network.buffers[1];
}

}  // namespace

// transformers 5.17 modeling_rope_utils.py dynamic_frequency_update; the host asks the device about the length.
void update_frequencies(const Network& network, const Tensor& position_ids) {
    const ModelSpec& spec = *network.spec;
    if (spec.rope_type == "longrope") return choose_long_frequencies(network, position_ids);
    if (spec.rope_type != "dynamic") return;
    Session& session = position_ids.session();
    const GradMode no_grad(session, false);
    Tensor length = reduce(position_ids, 3, false, DType::int64, Op::max);
    length = add(length, 1);
    { const Tensor grown = compare(Op::gt, length); }
    const Size positions = position_ids.size(-1);
    const Size before = std::max(network.rotary_positions, Size(spec.max_position_embeddings));
    if (session.decide("rotary frequencies grow", positions > before)) {
        network.buffers[0] = dynamic_frequencies(length, spec.rotary_dim() / 2);
        network.rotary_length = length;
        network.rotary_positions = positions;
    }
    { const Tensor shrunk = compare(Op::lt, length); }
    if (positions >= spec.max_position_embeddings || before <= spec.max_position_embeddings) return;
    if (network.rotary_length.defined()) const Tensor was_grown = compare(Op::gt, network.rotary_length);
    // Up to 4.57 the original ones are no buffer and stay in host memory.
    if (network.buffers.size() < 2)
        network.buffers.push_back(to_device(host_tensor(session, {spec.rotary_dim() / 2}, DType::float32)));
    network.buffers[0] = network.buffers[1];
    network.rotary_length.reset();
    network.rotary_positions = 0;
}

namespace {

/// Angles of each position, [B, S, dim / 2] of float32, and what their computation holds until the tables are done.
struct Angles {
    Tensor angles, frequencies, positions;
};

Angles rotary_angles(const Tensor& inv_freq, const Tensor& position_ids) {
    Session& session = position_ids.session();
    if (session.stack.rotary_multiplies_elements())
        return {mul(to(unsqueeze(position_ids, -1), DType::float32), to(inv_freq, DType::float32)), {}, {}};
    const Size batch = position_ids.size(0);
    const Tensor frequencies = to(expand(unsqueeze(unsqueeze(inv_freq, 0), 2), {batch, inv_freq.size(0), 1}),
                                  DType::float32);  // .float(): a copy where DeepSpeed has made them bfloat16
    const Tensor positions = to(unsqueeze(position_ids, 1), DType::float32);
    const Scoped<bool> no_autocast(session.autocast.enabled, false);
    return {transpose(matmul(frequencies, positions), 1, 2), frequencies, positions};
}

}  // namespace

Rotary rotary_tables(const Tensor& inv_freq, DType dtype, const Tensor& position_ids, bool half_tables,
                     bool neighbours) {
    Session& session = position_ids.session();
    const GradMode no_grad(session, false);
    Angles held = rotary_angles(inv_freq, position_ids);
    Tensor emb = held.angles;
    if (neighbours) {
        emb = repeat_interleave(emb, 2, -1);
    } else if (!half_tables) {
        const Tensor twice[2] = {emb, emb};
        emb = cat(twice, -1);
    }
    Tensor cosine = cos(emb);
    if (session.stack.rotary_scales_at_once()) cosine = mul(cosine, 1.0);
    Tensor sine = sin(emb);
    if (!session.stack.rotary_scales_at_once()) cosine = mul(cosine, 1.0);
    sine = mul(sine, 1.0);
    const Tensor cosine_cast = to(cosine, dtype);
    const Tensor sine_cast = to(sine, dtype);
    // The function's local variables go in the order of their names' first use.
    for (Tensor* local : {&held.frequencies, &held.positions, &held.angles, &emb, &cosine, &sine}) local->reset();
    return {cosine_cast, sine_cast};
}

void apply_rotary(Tensor& q, Tensor& k, const Rotary& rotary) { apply_rotary(q, k, rotary, rotate); }

void apply_rotary(Tensor& q, Tensor& k, const Rotary& rotary, Rotate turn) {
    const Tensor cos = unsqueeze(rotary.cos, 1);
    const Tensor sin = unsqueeze(rotary.sin, 1);
    const Tensor q_embed = turn(q, cos, sin);
    const Tensor k_embed = turn(k, cos, sin);
    q = q_embed;
    k = k_embed;
}

namespace {

/// What a function has given in place of q and k, once its own variables are gone.
struct Turned {
    Tensor q, k;
};

void rebind(Tensor& q, Tensor& k, Turned turned) {
    q = std::move(turned.q);
    k = std::move(turned.k);
}

/// Turns what stands for `q` and `k`, and gives both their dtypes back.
Turned turn_and_cast(Tensor for_q, Tensor for_k, DType q_dtype, DType k_dtype, const Rotary& rotary, Rotate turn) {
    const Tensor cos = unsqueeze(rotary.cos, 1);
    const Tensor sin = unsqueeze(rotary.sin, 1);
    Tensor q_embed = turn(for_q, cos, sin);
    Tensor k_embed = turn(for_k, cos, sin);
    Turned turned{to(q_embed, q_dtype), to(k_embed, k_dtype)};
    for (Tensor* local : {&for_q, &for_k, &q_embed, &k_embed}) local->reset();
    return turned;
}

}  // namespace

// models/olmo2/modeling_olmo2.py apply_rotary_pos_emb.
void apply_rotary_and_cast(Tensor& q, Tensor& k, const Rotary& rotary) {
    rebind(q, k, turn_and_cast(q, k, q.dtype(), k.dtype(), rotary, rotate));
}

namespace {

Turned turn_part_of_each(const Tensor& q, const Tensor& k, const Rotary& rotary) {
    const Tensor cos = unsqueeze(rotary.cos, 1);
    const Tensor sin = unsqueeze(rotary.sin, 1);
    const Halves queries = halves(q, cos.size(-1));
    const Halves keys = halves(k, cos.size(-1));
    Tensor q_embed = join(rotate(queries.turned, cos, sin), queries.passed);
    Tensor k_embed = join(rotate(keys.turned, cos, sin), keys.passed);
    return {std::move(q_embed), std::move(k_embed)};
}

}  // namespace

// models/phi3/modeling_phi3.py apply_rotary_pos_emb.
void apply_rotary_one_by_one(Tensor& q, Tensor& k, const Rotary& rotary) {
    if (!q.session().stack.phi3_turns_channels_in_part()) return apply_rotary(q, k, rotary);
    rebind(q, k, turn_part_of_each(q, k, rotary));
}

namespace {

/// Turns a part of q and k and joins it with the rest.
Turned turn_and_join(const Tensor& q, const Tensor& k, const Tensor& cos, const Tensor& sin, Rotate turn) {
    const Halves queries = halves(q, cos.size(-1));
    const Halves keys = halves(k, cos.size(-1));
    Tensor q_embed = turn(queries.turned, cos, sin);
    Tensor k_embed = turn(keys.turned, cos, sin);
    q_embed = join(q_embed, queries.passed);
    k_embed = join(k_embed, keys.passed);
    return {std::move(q_embed), std::move(k_embed)};
}

}  // namespace

// models/gpt_neox/modeling_gpt_neox.py apply_rotary_pos_emb.
void apply_rotary_then_join(Tensor& q, Tensor& k, const Rotary& rotary) {
    const Tensor cos = unsqueeze(rotary.cos, 1);
    const Tensor sin = unsqueeze(rotary.sin, 1);
    rebind(q, k, turn_and_join(q, k, cos, sin, rotate));
}

// models/phi/modeling_phi.py PhiAttention.forward: query_rot, query_pass, key_rot, key_pass.
void apply_rotary_of_halves(Tensor& q, Tensor& k, const Rotary& rotary, std::vector<Tensor>& named) {
    Halves queries = halves(q, rotary.cos.size(-1));
    Halves keys = halves(k, rotary.cos.size(-1));
    apply_rotary(queries.turned, keys.turned, rotary);
    q = join(queries.turned, queries.passed);
    k = join(keys.turned, keys.passed);
    named = {queries.turned, queries.passed, keys.turned, keys.passed};
}

namespace {

/// x * cos + rotate_half(x) * sin, where torch.stack is unsqueeze and cat.
Tensor rotate_neighbours(const Tensor& x, const Tensor& cos, const Tensor& sin) {
    Tensor straight = mul(x, cos);
    Tensor turned;
    {
        const Tensor x1 = slice_step(x, 0, 2);
        const Tensor x2 = slice_step(x, 1, 2);
        const Tensor pairs[2] = {unsqueeze(neg(x2), -1), unsqueeze(x1, -1)};
        turned = view(cat(pairs, -1), x.sizes());
    }
    turned = mul(turned, sin);
    Tensor sum = add(straight, turned);
    straight.reset();
    return sum;
}

/// t[..., : t.shape[-1] // 2].repeat_interleave(2, dim=-1).
Tensor repeated(const Tensor& table) {
    const Tensor half = slice(table, -1, 0, table.size(-1) / 2);
    const Tensor pairs = unsqueeze(half, -1);
    Dims sizes = pairs.sizes();
    sizes[-1] = 2;
    return view(clone_contiguous(expand(pairs, sizes)), table.sizes());
}

}  // namespace

namespace {

Turned turn_neighbours(const Tensor& q, const Tensor& k, const Rotary& rotary) {
    Tensor cos = repeated(unsqueeze(rotary.cos, 1));
    const Tensor sin = repeated(unsqueeze(rotary.sin, 1));
    Turned turned = turn_and_join(q, k, cos, sin, rotate_neighbours);
    cos.reset();
    return turned;
}

}  // namespace

Tensor turned_queries(const Tensor& q, const Rotary& rotary) {
    const Tensor cos = unsqueeze(rotary.cos, 1);
    const Tensor sin = unsqueeze(rotary.sin, 1);
    return rotate(q, cos, sin);
}

// models/glm4/modeling_glm4.py apply_rotary_pos_emb.
void apply_rotary_of_neighbours(Tensor& q, Tensor& k, const Rotary& rotary) {
    rebind(q, k, turn_neighbours(q, k, rotary));
}

// models/cohere2/modeling_cohere2.py apply_rotary_pos_emb.
void apply_rotary_in_float32(Tensor& q, Tensor& k, const Rotary& rotary) {
    Tensor wide_q = to(q, DType::float32);
    Tensor wide_k = to(k, DType::float32);
    rebind(q, k, turn_and_cast(std::move(wide_q), std::move(wide_k), q.dtype(), k.dtype(), rotary, rotate_neighbours));
}

namespace {

Turned turn_both_and_join(const Tensor& q, const Tensor& k, const Rotary& rotary) {
    const Tensor cos = unsqueeze(rotary.cos, 1);
    const Tensor sin = unsqueeze(rotary.sin, 1);
    const Halves queries = halves(q, cos.size(-1));
    const Halves keys = halves(k, cos.size(-1));
    Tensor q_embed = rotate(queries.turned, cos, sin);
    const Tensor k_embed = rotate(keys.turned, cos, sin);
    Turned turned{join(q_embed, queries.passed), join(k_embed, keys.passed)};
    q_embed.reset();
    return turned;
}

}  // namespace

// models/nemotron/modeling_nemotron.py apply_rotary_pos_emb: both are joined when both are turned.
void apply_rotary_and_join(Tensor& q, Tensor& k, const Rotary& rotary) {
    rebind(q, k, turn_both_and_join(q, k, rotary));
}

}  // namespace vramfit::model
