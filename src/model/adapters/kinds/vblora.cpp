// peft 0.21.2 tuners/vblora/layer.py Linear and model.py _init_vblora_vector_bank.
#include "engine/ops/copy.hpp"
#include "engine/ops/dropout.hpp"
#include "engine/ops/index.hpp"
#include "engine/ops/pointwise.hpp"
#include "engine/ops/reduce.hpp"
#include "engine/ops/softmax.hpp"
#include "engine/ops/sum.hpp"
#include "engine/ops/view.hpp"
#include "engine/session.hpp"
#include "model/adapters/kinds/kinds.hpp"
#include "model/network/modules.hpp"

namespace vramfit::model {

using namespace engine;

// Each layer makes the bank of vectors anew: the one before is dropped.
void create_vblora(const NewAdapter& made) {
    const AdapterOptions& options = made.plan().options;
    std::vector<Tensor>& shared = *made.adapter.shared;
    shared.assign(1, {});
    made.add("vblora_logits_A.default", {made.rank, made.layer.in / options.vector_length, options.num_vectors});
    made.add("vblora_logits_B.default", {made.layer.out / options.vector_length, made.rank, options.num_vectors});
    shared[0] = moved_from_host(made.run.session, {options.num_vectors, options.vector_length}, made.dtype);
    made.adapter.shared_name = "vblora_vector_bank.default";
}

namespace {

/// logits_A[0, 0].isinf().any(), which the host reads.
void look_for_infinity(const Tensor& logits) {
    Session& session = logits.session();
    const Tensor any = [&] {
        const Tensor is_infinite = [&] {
            const Tensor row = select(select(logits, 0), 0);
            const Tensor size = pointwise_result(row, row.dtype(), Op::abs);
            return compare(Op::eq, size);
        }();
        return reduce(is_infinite, 1, false, DType::boolean, Op::any);
    }();
    session.streams.host_waits(0);
}

/// _get_low_rank_matrix: the best vectors of the bank, added up -- [..., vector_length].
Tensor low_rank_matrix(const Tensor& logits, const Tensor& bank, std::int64_t topk) {
    const Picked best = engine::topk(logits, topk);
    const Tensor weights = softmax(best.values, false);
    const Tensor vectors = mul(unsqueeze(weights, -1), index_rows(bank, best.indices));
    return sum_over(vectors, -2, false);
}

}  // namespace

Tensor vblora(const Linear& layer, const Tensor& x) {
    const OtherAdapter& adapter = *layer.other;
    const Tensor& bank = adapter.shared->front();
    Tensor result = base_layer(layer, x);
    if (x.session().training) look_for_infinity(adapter[0]);
    const std::int64_t topk = adapter.plan->options.topk;
    const Tensor a = reshape(low_rank_matrix(adapter[0], bank, topk), {adapter[0].size(0), -1});
    const Tensor b = reshape(transpose(low_rank_matrix(adapter[1], bank, topk), 1, 2), {-1, adapter[1].size(1)});
    const Tensor input = to(x, bank.dtype());
    Tensor t = dropout(input, adapter.dropout);
    t = functional_linear(t, a);
    t = functional_linear(t, b);
    result = add(result, t);
    t.reset();
    return to(result, x.dtype());
}

}  // namespace vramfit::model
