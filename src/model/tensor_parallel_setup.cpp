// What tensor parallelism changes around the layers: sizes of modules, the norm of gradients.
#include <vector>

#include <fmt/format.h>

#include "engine/ops/copy.hpp"
#include "engine/ops/pointwise.hpp"
#include "engine/ops/reduce.hpp"
#include "engine/session.hpp"
#include "model/tensor_parallel.hpp"
#include "vramfit/base/error.hpp"

namespace vramfit::model {

using namespace engine;

bool is_tensor_parallel(const TrainPlan& plan) { return plan.distributed && plan.distributed->as<TpPlan>(); }

namespace {

void cut_by_columns(Linear& layer, std::int64_t pieces, Cut cut) {
    layer.cut = cut;
    layer.pieces = pieces;
    layer.out = layer.out / pieces;
}

void cut_by_rows(Linear& layer, std::int64_t pieces) {
    layer.cut = Cut::rows;
    layer.pieces = pieces;
    layer.in = layer.in / pieces;
}

[[noreturn]] void refuse_pieces(const ModelSpec& spec, std::int64_t pieces, std::string problem) {
    std::int64_t most = 1;
    for (std::int64_t n = 2; n < pieces; ++n)
        if (spec.num_key_value_heads % n == 0 && spec.num_attention_heads % n == 0 && spec.intermediate_size % n == 0 &&
            spec.vocab_size % n == 0)
            most = n;
    throw Error(ErrorKind::invalid, "distributed.world_size", std::move(problem),
                most > 1 ? fmt::format("{} processes", most) : "another method");
}

/// What from_pretrained or the first forward stops at.
void check_pieces(const ModelSpec& spec, std::int64_t pieces) {
    if (spec.vocab_size % pieces != 0)
        refuse_pieces(spec, pieces,
                      fmt::format("transformers stops: \"The output size of `lm_head` ({}) must be divisible by the "
                                  "tensor parallel size ({}) when gathering a colwise output.\"",
                                  spec.vocab_size, pieces));
    const std::int64_t key_values = spec.num_key_value_heads;
    if (key_values % pieces != 0 || spec.num_attention_heads % pieces != 0)
        refuse_pieces(spec, pieces,
                      fmt::format("torch stops in the first forward: {} heads of keys and values and {} of queries "
                                  "cannot be cut into {} pieces (\"shape '[..., -1, {}]' is invalid\")",
                                  key_values, spec.num_attention_heads, pieces, spec.head_dim));
    if (spec.intermediate_size % pieces != 0)
        refuse_pieces(spec, pieces,
                      fmt::format("torch stops in the first forward: an intermediate_size of {} cannot be cut into {} "
                                  "equal pieces",
                                  spec.intermediate_size, pieces));
}

}  // namespace

// configuration_*.py base_model_tp_plan of gemma, llama, mistral, qwen2 and qwen3; modeling_*.py _tp_plan of the head;
// configuration_utils.py: a table that the head shares is cut by rows.
void cut_network(const Run& run, Network& network) {
    const std::int64_t pieces = run.plan.distributed->world_size;
    check_pieces(run.spec, pieces);
    for (DecoderLayer& layer : network.layers) {
        for (Linear* linear : {&layer.q, &layer.k, &layer.v, &layer.gate, &layer.up})
            cut_by_columns(*linear, pieces, Cut::columns);
        for (Linear* linear : {&layer.o, &layer.down}) cut_by_rows(*linear, pieces);
        layer.q_norm.sums_gradients = layer.k_norm.sums_gradients = true;
    }
    cut_by_columns(network.head, pieces, Cut::columns_gathered);
    if (!network.tied) return;
    network.embed.rows = network.embed.rows / pieces;
    network.embed.pieces = pieces;
}

namespace {

/// torch.linalg.vector_norm(torch.stack([g.norm(2) for g in gradients])) ** 2, which takes the place of a zero.
Tensor squared_norm(Session& session, const std::vector<Tensor>& gradients) {
    Tensor squared = zeros(session, {}, DType::float32);
    if (gradients.empty()) return squared;
    Tensor norm;
    {
        Tensor stacked;
        {
            std::vector<Tensor> norms;
            for (const Tensor& g : gradients)
                norms.push_back(reduce(g, (1u << g.dim()) - 1u, false, g.dtype(), Op::linalg_vector_norm));
            const auto count = static_cast<std::int64_t>(norms.size());
            stacked = empty(session, {count}, norms[0].dtype(), Op::cat);
        }
        norm = reduce(stacked, 1, false, stacked.dtype(), Op::linalg_vector_norm);
    }
    squared = pointwise_result(norm, norm.dtype(), Op::pow);
    return squared;
}

}  // namespace

// transformers 5.17 trainer.py _clip_grad_norm, _get_grad_norm, _mixed_mesh_grad_norm.
Tensor clip_cut_gradients(const Run& run, Network& network) {
    Session& session = run.session;
    const GradMode no_grad(session, false);
    std::vector<Tensor> whole, cut;
    for (const NamedParameter& p : trainable_parameters(network))
        if ((*p.tensor)->grad) (p.pieces > 1 ? cut : whole).push_back(p.tensor->grad());
    const Tensor of_whole = squared_norm(session, whole);
    const Tensor of_cut = squared_norm(session, cut);
    Tensor total;
    {
        const Tensor sum = add(of_whole, of_cut);
        total = pointwise_result(sum, sum.dtype(), Op::sqrt);
    }
    if (run.plan.training.max_grad_norm <= 0) return total;
    Tensor clip;
    {
        Tensor inverse;
        {
            const Tensor shifted = add(total, 1e-6);
            const Tensor reciprocals = reciprocal(shifted);
            inverse = mul(reciprocals, 1.0);
        }
        clip = clamp(inverse);
    }
    return total;
}

}  // namespace vramfit::model
