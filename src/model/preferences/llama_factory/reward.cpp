// LLaMA-Factory 0.9.5 train/rm/trainer.py PairwiseTrainer; trl 0.24 models/modeling_value_head.py.
#include "model/preferences/llama_factory/reward.hpp"

#include <optional>
#include <vector>

#include "engine/autocast.hpp"
#include "engine/ops/copy.hpp"
#include "engine/ops/dropout.hpp"
#include "engine/ops/index.hpp"
#include "engine/ops/pointwise.hpp"
#include "engine/ops/reduce.hpp"
#include "engine/ops/shape.hpp"
#include "engine/ops/split.hpp"
#include "engine/ops/unary.hpp"
#include "model/causal_lm/mixed_precision.hpp"
#include "model/network/in_module.hpp"
#include "model/network/modules.hpp"

namespace vramfit::model {

using namespace engine;

namespace {

constexpr double kSummaryDropout = 0.1;  // ValueHead.__init__, summary_dropout_prob

/// What the wrapper's forward gives: (lm_logits, loss, value).
struct Valued {
    Tensor logits, loss, value;
};

/// ValueHead.forward.
Tensor value_of(const Run& run, const Network& network, const Tensor& hidden) {
    Tensor given;
    {
        const InModule in_dropout(run.session, "v_head.dropout");
        given = dropout(hidden, kSummaryDropout);
    }
    given = to(given, network.value_head.weight.dtype());
    const InModule in_summary(run.session, "v_head.summary");
    return forward(network.value_head, given);
}

Valued valued_forward(const Run& run, const Network& network, const Batch& batch, const Place& place) {
    const Output base = causal_lm(run, network, batch, {}, place);
    Valued out;
    out.loss = base.loss;
    out.value = squeeze(value_of(run, network, base.hidden_states.back()), -1);
    out.logits = to(base.logits, DType::float32);
    return out;
}

/// The same as accelerate's wrapper gives it back.
Valued prepared_values(const Run& run, const Network& network, const Batch& batch, const Place& place) {
    const auto dtype = mixed_dtype(run.plan.training);
    if (!dtype) return valued_forward(run, network, batch, place);
    Valued out;
    {
        const AutocastScope autocast(run.session, true, *dtype);
        out = valued_forward(run, network, batch, place);
    }
    out.value = to(out.value, DType::float32);
    return out;
}

/// rewards.gather(dim=-1, index=(masks.sum(dim=-1, keepdim=True) - 1)).
Tensor last_value(const Tensor& rewards, const Tensor& mask) {
    const Tensor index = [&] {
        const Tensor tokens = sum_dim(mask, 1, true, DType::int64);
        return sub(tokens, 1);
    }();
    return gather(rewards, index);
}

}  // namespace

void add_value_head(const Run& run, Network& network) {
    Linear& head = network.value_head;
    head.name = "v_head.summary";
    head.in = run.spec.hidden_size;
    head.out = 1;
    head.has_bias = true;
    head.weight = host_tensor(run.session, {head.out, head.in}, DType::float32);
    head.bias = host_tensor(run.session, {head.out}, DType::float32);
    for (Tensor* t : {&head.weight, &head.bias}) t->set_requires_grad(true);
    // trl 0.24 models/modeling_base.py from_pretrained reads state_dict(), for which bitsandbytes copies nested codes.
    std::vector<Tensor> held;
    for (const Linear* linear : linears(network))
        if (linear->quantized && linear->quantized->nested_code.defined())
            held.push_back(clone(linear->quantized->nested_code));
}

void move_value_head(const Run& run, Network& network) {
    const Scoped<Category> fresh(run.session.recorder.fresh, Category::weights);
    const InModule in_summary(run.session, "v_head.summary");
    for (Tensor* t : {&network.value_head.weight, &network.value_head.bias}) {
        *t = to_device(*t);
        run.session.streams.host_waits(0);
        t->set_requires_grad(true);
    }
}

Tensor factory_reward_loss(const Run& run, const Network& network, const Batch& batch, const Place& place) {
    Tensor loss, values;  // `_, _, values`: what two names stand for is the last one's
    {
        Valued out = prepared_values(run, network, batch, place);
        begin_loss(run, place);
        loss = out.loss;
        values = out.value;
    }
    const auto masks = chunk(batch.attention_mask, 2, 0), rewards = chunk(values, 2, 0);
    const Tensor chosen = last_value(rewards[0], masks[0]), rejected = last_value(rewards[1], masks[1]);
    const Tensor mean = [&] {
        const Tensor difference = sub(squeeze(chosen, -1), squeeze(rejected, -1));
        return mean_all(log_sigmoid(difference));
    }();
    return neg(mean);
}

}  // namespace vramfit::model
