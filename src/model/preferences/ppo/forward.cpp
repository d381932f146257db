// trl 1.9 experimental/ppo/ppo_trainer.py forward; experimental/utils.py get_reward.
#include "model/preferences/ppo/forward.hpp"

#include "engine/ops/copy.hpp"
#include "engine/ops/index.hpp"
#include "engine/ops/pointwise.hpp"
#include "engine/ops/shape.hpp"
#include "engine/ops/view.hpp"
#include "model/network/modules.hpp"
#include "model/preferences/grpo/generation.hpp"
#include "model/preferences/ppo/masked.hpp"

namespace vramfit::model {

using namespace engine;

Batch given_rows(const Run& run, const Tensor& query_responses) {
    Batch out;
    out.attention_mask = compare(Op::ne, query_responses);
    {
        const Tensor sum = cumsum_last(out.attention_mask);
        const Tensor numbers = to(out.attention_mask, DType::int64);
        out.position_ids = sub(sum, numbers);
    }
    const Tensor padded = compare(Op::bitwise_not, out.attention_mask);
    out.input_ids = masked_fill(query_responses, padded);
    out.padded = run.plan.batch.pairs.padded;
    return out;
}

void let_go(Output& output) {
    let_go(output.past_key_values);
    output.past_key_values.reset();
    while (!output.hidden_states.empty()) output.hidden_states.pop_back();
    output.logits.reset();
}

RowRewards rewards_of_rows(const Run& run, const Network& network, const Tensor& query_responses, const Size& context) {
    Session& session = run.session;
    Batch given = given_rows(run, query_responses);
    std::vector<Tensor> hidden_states;
    {
        const Scoped keeps(run.hidden_states, &hidden_states);
        hidden_states.push_back(last_hidden_state(run, network, given, {}, {}));
    }
    RowRewards out;
    out.logits = forward(network.head, hidden_states.back());
    const Tensor response = slice(query_responses, 1, context, query_responses.size(1));
    out.sequence_lengths = [&] {
        const Tensor before = [&] {
            const Tensor first = first_true_indices(compare(Op::eq, response));
            return sub(first, 1);
        }();
        return add(before, 1);
    }();
    out.final_rewards = squeeze(index_pairs(out.logits, arange(session, out.logits.size(0)), out.sequence_lengths), -1);
    for (Tensor* t : {&given.attention_mask, &given.position_ids, &given.input_ids}) t->reset();
    while (!hidden_states.empty()) hidden_states.pop_back();
    return out;
}

}  // namespace vramfit::model
